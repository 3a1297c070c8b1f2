/* A C library that prints what it does to stderr, and knows nothing of jobs or of us. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__GNUC__)
#define VISIBLE __attribute__((visibility("default")))
#endif

VISIBLE void chatty_work(int job, int step);
VISIBLE void chatty_raw(const char* text);
VISIBLE void chatty_print(const char* text);
VISIBLE void chatty_out(const char* text);
VISIBLE void chatty_error(void);

VISIBLE void chatty_work(int job, int step) {
  switch (step % 4) {
    case 0:
      fprintf(stderr, "job %d step %d: started\n", job, step);
      break;
    case 1: { /* in pieces, with others printing in between */
      fprintf(stderr, "job %d ", job);
      fputs("step ", stderr);
      fprintf(stderr, "%d", step);
      fputc(':', stderr);
      fwrite(" piece", 1, 6, stderr);
      fputs("s\n", stderr);
      break;
    }
    case 2: /* two lines at once */
      fprintf(stderr, "job %d step %d: one\njob %d step %d: two\n", job, step, job, step);
      break;
    default: { /* long; beyond 8 KiB glibc prints pieces without the stream's lock, and characters of others get in */
      char* text = malloc(8000);
      memset(text, 'a' + job, 7999);
      text[7999] = '\0';
      fprintf(stderr, "job %d step %d: %s\n", job, step, text);
      free(text);
    }
  }
}

VISIBLE void chatty_raw(const char* text) {
  if (write(2, text, strlen(text)) < 0) abort();
}
VISIBLE void chatty_print(const char* text) {
  fputs(text, stderr);
}
VISIBLE void chatty_out(const char* text) {
  printf("%s", text);
}
VISIBLE void chatty_error(void) {
  errno = ENOENT;
  perror("chatty");
}
