/* A variadic function of SQLite, which Swift cannot call. */
#include <sqlite3.h>

/* Sets whether SQLite leaves its log as it is when the connection closes. Returns an SQLite result code. */
static inline int sqlite_keep_log_on_close(void *connection, int keep) {
    return sqlite3_db_config((sqlite3 *)connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, (int *)0);
}
