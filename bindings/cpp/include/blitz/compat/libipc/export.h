// The marks of exported names. Headers have none.
#ifndef BLITZ_COMPAT_LIBIPC_EXPORT_H
#define BLITZ_COMPAT_LIBIPC_EXPORT_H

// The name up to cpp-ipc 1.3, and the one since then.
#ifndef IPC_EXPORT
#define IPC_EXPORT
#endif
#ifndef LIBIPC_EXPORT
#define LIBIPC_EXPORT
#endif

#endif
