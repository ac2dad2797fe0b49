/* System calls that Swift does not see: variadic ones, and those behind _GNU_SOURCE. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Reserves blocks for a file without changing its size; 0, or -1 with errno. */
static inline int linux_fallocate_keep_size(int descriptor, off_t offset, off_t length) {
    return (int)syscall(SYS_fallocate, descriptor, 1 /* FALLOC_FL_KEEP_SIZE */, offset, length);
}

/* Renames a file unless something has the new name (RENAME_NOREPLACE of renameat2(2)); 0, or -1 with errno. */
static inline int linux_rename_to_free_name(const char *from, const char *to) {
    return (int)syscall(SYS_renameat2, -100 /* AT_FDCWD */, from, -100, to, 1);
}

/* The type of the file system that a path is on (statfs(2)); 0, or -1 with errno. */
static inline int linux_file_system_type(const char *path, unsigned *type) {
    struct statfs info = {0};
    int status = statfs(path, &info);
    *type = (unsigned)info.f_type;
    return status;
}

/* Forbids core dumps, and lets only root read this process's memory; 0, or -1 with errno. Also removes the crash
   handler of the Swift runtime, which prints the registers and the memory that they point to. The hard limit stays, so
   that a command that replaces this process (vault exec) can have the old limit again. */
static inline int linux_forbid_dumps(void) {
    struct rlimit none = {0, 0};
    getrlimit(RLIMIT_CORE, &none);
    none.rlim_cur = 0;
    int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    for (unsigned i = 0; i < sizeof crashes / sizeof crashes[0]; i++) signal(crashes[i], SIG_DFL);
    return setrlimit(RLIMIT_CORE, &none) | prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* How many bytes of memory may be locked (setrlimit(2)). */
static inline rlim_t linux_locked_memory_limit(void) {
    struct rlimit limit = {0, 0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return limit.rlim_cur;
}

/* The user and the process behind the other end of a local socket; 0, or -1 with errno. */
static inline int linux_peer(int descriptor, uid_t *user, pid_t *process) {
    struct { pid_t process; uid_t user; gid_t group; } peer = {0, 0, 0};
    socklen_t length = sizeof peer;
    int status = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    *user = peer.user;
    *process = peer.process;
    return status;
}

/* Closes the file descriptors from `first` on in a program that is started (posix_spawn(3)). */
static inline int linux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

/* Accepts a connection. Its descriptor never blocks, and other programs do not inherit it (accept4(2)). */
static inline int linux_accept(int descriptor) {
    return (int)syscall(SYS_accept4, descriptor, 0, 0, 02000000 | 04000 /* SOCK_CLOEXEC | SOCK_NONBLOCK */);
}

/* Sends a message to the service manager (sd_notify(3)). The address is $NOTIFY_SOCKET: a path, or "@" and a name
   without a file. 0, or -1 with errno. */
static inline int linux_notify(const char *address, const char *message) {
    struct sockaddr_un target = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    if (length < 2 || length > sizeof target.sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(target.sun_path, address, length);
    if (address[0] == '@') target.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    ssize_t sent = sendto(descriptor, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&target,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    int reason = errno;
    close(descriptor);
    errno = reason;
    return sent < 0 ? -1 : 0;
}

/* Whether this process ignores a signal (sigaction(2)). */
static inline int linux_ignores_signal(int number) {
    struct sigaction action;
    return sigaction(number, 0, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* The environment for execve(2). Swift does not let a program read the global variable. */
static inline char **linux_environment(void) {
    extern char **environ;
    return environ;
}

/* A program or shared library in this process, as dl_iterate_phdr(3) shows it (struct dl_phdr_info). */
struct linux_object {
    Elf64_Addr base;
    const char *name;
    const Elf64_Phdr *segments;
    Elf64_Half count;
};

static inline int linux_give_back_object(struct linux_object *object, size_t size, void *unused) {
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    for (Elf64_Half i = 0; i < object->count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        /* A writable segment holds changes by the linker and the program, so it stays. */
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        unsigned long start = (object->base + segment->p_vaddr) & ~(page - 1);
        unsigned long end = (object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

/* Releases the pages of this program's code and constants. If a page is used again, the system loads it from its cache
   of the file. */
static inline void linux_give_back_program_pages(void) {
    extern int dl_iterate_phdr(int (*)(struct linux_object *, size_t, void *), void *);
    dl_iterate_phdr(linux_give_back_object, 0);
}
