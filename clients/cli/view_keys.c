/* The keys of the live view. */
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "view.h"

static struct termios saved; /* settings of the terminal; static, because a process has one terminal */

void view_keys_open(struct view *view)
{
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &saved) != 0) {
        return;
    }
    struct termios single = saved;
    single.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    view->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0;
}

void view_keys_close(struct view *view)
{
    if (view->has_keys) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
        view->has_keys = false;
    }
}

enum key { KEY_NONE, KEY_UP, KEY_DOWN, KEY_LEFT, KEY_RIGHT, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_END, KEY_FIND, KEY_QUIT };

static const struct {
    const char *bytes;
    enum key key;
} sequences[] = {
    {"\033[A", KEY_UP},       {"\033OA", KEY_UP},          {"k", KEY_UP},    {"\033[B", KEY_DOWN}, {"\033OB", KEY_DOWN},
    {"j", KEY_DOWN},          {"\033[D", KEY_LEFT},        {"\033OD", KEY_LEFT}, {"h", KEY_LEFT},  {"\033[C", KEY_RIGHT},
    {"\033OC", KEY_RIGHT},    {"l", KEY_RIGHT},            {"\033[5~", KEY_PAGE_UP}, {"b", KEY_PAGE_UP},
    {"\033[6~", KEY_PAGE_DOWN}, {" ", KEY_PAGE_DOWN},      {"\033[H", KEY_HOME}, {"\033[1~", KEY_HOME}, {"g", KEY_HOME},
    {"\033[F", KEY_END},      {"\033[4~", KEY_END},        {"G", KEY_END},   {"/", KEY_FIND},
    {"q", KEY_QUIT},
};

/* The key at the beginning of `text`, which has `length` bytes; *used: the number of bytes of the key. */
static enum key next_key(const char *text, size_t length, size_t *used)
{
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        const size_t bytes = strlen(sequences[i].bytes);
        if (bytes <= length && memcmp(text, sequences[i].bytes, bytes) == 0) {
            *used = bytes;
            return sequences[i].key;
        }
    }
    *used = 1;
    return KEY_NONE;
}

/* Applies a key to the selection, which view_draw() limits to the existing rows. */
static void apply(struct view *view, enum key key)
{
    struct view_row *row = view->selected < view->shown_count ? view->shown[view->selected] : NULL;
    switch (key) {
    case KEY_UP:
        view->selected -= view->selected > 0;
        break;
    case KEY_DOWN:
        view->selected++;
        break;
    case KEY_LEFT:
    case KEY_RIGHT:
        if (row != NULL) {
            view_row_next_field(row, key == KEY_RIGHT ? 1 : -1);
        }
        break;
    case KEY_PAGE_UP: /* view_draw() fills the page above the selected row */
        view->selected = view->first > 0 ? view->first - 1 : 0;
        view->first = 0;
        break;
    case KEY_PAGE_DOWN:
        view->selected = view->shown_last + 1;
        view->first = view->selected < view->shown_count ? view->selected : view->first;
        break;
    case KEY_HOME:
        view->selected = 0;
        break;
    case KEY_END:
        view->selected = view->row_count;
        break;
    case KEY_FIND:
        view->takes_find = true;
        break;
    default:
        break;
    }
}

/* Applies a byte to the text to find: Enter keeps the text, Escape empties it. */
static void type_find(struct view *view, char byte)
{
    const size_t length = strlen(view->find);
    view->takes_find = byte != '\n' && byte != '\r' && byte != '\033';
    if (byte == '\033') {
        view->find[0] = '\0';
    } else if (byte == '\b' || byte == '\177') {
        view->find[length > 0 ? length - 1 : 0] = '\0';
    } else if ((unsigned char)byte > ' ' && length + 1 < sizeof view->find) {
        view->find[length] = byte;
        view->find[length + 1] = '\0';
    }
    view_apply_find(view);
}

/* Reads typed bytes, if all earlier ones are used; false when none came within `timeout_ms`. */
static bool await_typed(struct view *view, int timeout_ms, bool *quit)
{
    struct pollfd keyboard = {.fd = STDIN_FILENO, .events = POLLIN};
    if (view->typed_used < view->typed_length) {
        return true;
    }
    view->typed_used = view->typed_length = 0;
    if (poll(&keyboard, view->has_keys ? 1 : 0, timeout_ms) <= 0) {
        return false;
    }
    const ssize_t length = read(STDIN_FILENO, view->typed, sizeof view->typed);
    *quit = *quit || length <= 0; /* the terminal is gone */
    view->typed_length = length > 0 ? (size_t)length : 0;
    return true;
}

bool view_keys_take(struct view *view, int timeout_ms, bool *quit)
{
    if (!await_typed(view, timeout_ms, quit)) {
        return false;
    }
    const char *text = view->typed + view->typed_used;
    const size_t length = view->typed_length - view->typed_used;
    size_t used = length > 0;
    if (length > 0 && view->takes_find) {
        type_find(view, *text);
    } else if (length > 0) {
        const enum key key = next_key(text, length, &used);
        *quit = *quit || key == KEY_QUIT;
        apply(view, key);
    }
    view->typed_used += used;
    return true;
}
