/* Numbers of the VELOC interface, for veloc.h and veloc.hpp. */
#ifndef CAIRN_VELOC_DEFS_H
#define CAIRN_VELOC_DEFS_H

/* What calls return. */
#ifndef VELOC_SUCCESS
#define VELOC_SUCCESS (0)
#endif
#ifndef VELOC_FAILURE
#define VELOC_FAILURE (-1)
#endif
/* VELOC_Restart_test found no checkpoint. */
#define VELOC_IGNORED (-2)

/* Bytes of a buffer for VELOC_Route_file. */
#define VELOC_MAX_NAME (1024)

/* Which regions of memory are restored: all, those with the given ids, all others. */
#define VELOC_RECOVER_ALL (0)
#define VELOC_RECOVER_SOME (1)
#define VELOC_RECOVER_REST (2)

/* Which regions of memory a checkpoint contains. */
#define VELOC_CKPT_ALL (0)
#define VELOC_CKPT_SOME (1)
#define VELOC_CKPT_REST (2)

/* When an observer is called: at the end of a checkpoint. */
#define VELOC_OBSERVE_CKPT_END (0)

#endif
