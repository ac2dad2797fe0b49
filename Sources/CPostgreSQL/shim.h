/* PostgreSQL's client library. Nothing is linked: KeyServicePostgreSQL opens the library at first use. */
#include "../CLinux/library.h"
/* Debian has the header in a folder of its own. The library's pkg-config file names the folder, but links the library. */
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

#define LIBPQ(FUNCTION) \
    FUNCTION(PQconninfoParse) \
    FUNCTION(PQconninfoFree) \
    FUNCTION(PQconnectStartParams) \
    FUNCTION(PQconnectPoll) \
    FUNCTION(PQfinish) \
    FUNCTION(PQstatus) \
    FUNCTION(PQsocket) \
    FUNCTION(PQserverVersion) \
    FUNCTION(PQerrorMessage) \
    FUNCTION(PQsetErrorVerbosity) \
    FUNCTION(PQsetNoticeReceiver) \
    FUNCTION(PQsetnonblocking) \
    FUNCTION(PQconsumeInput) \
    FUNCTION(PQisBusy) \
    FUNCTION(PQflush) \
    FUNCTION(PQenterPipelineMode) \
    FUNCTION(PQexitPipelineMode) \
    FUNCTION(PQpipelineStatus) \
    FUNCTION(PQpipelineSync) \
    FUNCTION(PQsendPrepare) \
    FUNCTION(PQsendQuery) \
    FUNCTION(PQsendQueryPrepared) \
    FUNCTION(PQgetCancel) \
    FUNCTION(PQcancel) \
    FUNCTION(PQfreeCancel) \
    FUNCTION(PQgetResult) \
    FUNCTION(PQresultStatus) \
    FUNCTION(PQresultErrorField) \
    FUNCTION(PQclear) \
    FUNCTION(PQntuples) \
    FUNCTION(PQnfields) \
    FUNCTION(PQgetisnull) \
    FUNCTION(PQgetvalue) \
    FUNCTION(PQgetlength) \
    FUNCTION(PQfreemem)

LIBRARY(LibPQ, LIBPQ)
