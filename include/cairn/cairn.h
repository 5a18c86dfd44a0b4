/* Cairn for C applications over MPI.
 *
 * Call order, on every rank of the communicator handed to cairn_init:
 *
 *   cairn_session* session;
 *   int code = cairn_init(MPI_COMM_WORLD, "heat.ini", &session);
 *   if (code == CAIRN_HEAD) { MPI_Finalize(); return 0; }      a dedicated head: it has served until the end
 *   if (code != CAIRN_OK) { MPI_Finalize(); return 1; }        all ranks have this error, and the log names it
 *   cairn_protect(session, "plate", plate, CAIRN_DOUBLE, n);
 *   cairn_restore(session);
 *   for (...) { compute; cairn_snapshot(session, NULL); }
 *   cairn_finalize(&session);
 *
 * Every application rank makes the same sequence of restore, snapshot, wait and finalize calls, at places where
 * no application message is in flight. All calls come from one thread. No call exits. A negative
 * code is an error, which Cairn logs: once if all ranks have it, else with the rank that has it. To find out, a call
 * that fails waits for the other ranks to fail too: at most a second, or five for an error of cairn_restore. A program
 * that ends for an error that other ranks may not have calls MPI_Abort. cairn_error_text() gives the text, too. Where a
 * comment does not say otherwise the session stays usable. */
/* With [recovery] mode = spares or respawn the job goes on when a process dies, without leaving its survivors. The
 * first Cairn call that knows of it returns CAIRN_ROLLBACK; MPI calls on cairn_comm fail until then, and their results
 * are void. The application then calls cairn_recover and goes back to the place after cairn_init, with regions
 * protected anew; processes that take the place of the dead come out of cairn_init there:
 *
 *   if (cairn_init(MPI_COMM_WORLD, "heat.ini", &session) == CAIRN_HEAD) ...
 *   for (;;) {
 *     code = compute(session);                  protect, restore, loop, finalize: up to the first CAIRN_ROLLBACK
 *     if (code != CAIRN_ROLLBACK) break;
 *     if (cairn_recover(session) != CAIRN_OK) MPI_Abort(...);
 *   }
 *
 * A loop that makes no Cairn call, and ends by a result of MPI calls (a residual), might never end after a failure,
 * since those results are void then. It has to test cairn_failed as well:
 *
 *   while (residual > limit && !cairn_failed(session)) { ...; MPI_Allreduce(..., &residual, ..., comm); }
 *
 * Or the application sets an error handler on cairn_comm that leaves the loop by longjmp, to where cairn_recover is
 * called. A handler that prints and calls exit ends the whole job, with a message, and so does any exit or _exit before
 * cairn_finalize.
 */
#ifndef CAIRN_CAIRN_H
#define CAIRN_CAIRN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cairn_session cairn_session; /* opaque; made by cairn_init, ended by cairn_finalize */

/* Results. The numbers never change. */
enum {
  CAIRN_OK = 0,
  CAIRN_HEAD = 1,               /* this rank was a dedicated head or a spare; the job is over for it */
  CAIRN_ROLLBACK = 2,           /* a process died: call cairn_recover and go back to where cairn_init returned */
  CAIRN_ERR_USAGE = -1,         /* a wrong argument, or calls in a wrong order */
  CAIRN_ERR_CONFIG = -2,        /* the configuration is wrong; the text names file, line and key */
  CAIRN_ERR_STORAGE = -3,       /* a store is full or failed; the job may go on, the last good snapshot stays */
  CAIRN_ERR_CORRUPT = -4,       /* stored data is damaged */
  CAIRN_ERR_UNRECOVERABLE = -5, /* snapshots exist, but none can be put together from what is left */
  CAIRN_ERR_MISMATCH = -6,      /* ranks or regions differ from those of the snapshot */
  CAIRN_ERR_TAKEN_OVER = -7,    /* another run uses the same stores */
  CAIRN_ERR_COMMUNICATION = -8  /* a peer cannot be reached */
};

/* Levels of the lines of the log. */
enum { CAIRN_LOG_ERROR = 0, CAIRN_LOG_WARNING = 1, CAIRN_LOG_INFO = 2, CAIRN_LOG_DEBUG = 3 };

/* How cairn_init or cairn_recover returned. CAIRN_FRESH: at the start of the job. After a failure, CAIRN_SURVIVOR: in a
 * process that computed before; CAIRN_REPLACEMENT: in one that takes the place of a dead one. */
enum { CAIRN_FRESH = 0, CAIRN_SURVIVOR = 1, CAIRN_REPLACEMENT = 2 };

/* Element types. CAIRN_BYTE is for untyped data. */
typedef enum {
  CAIRN_BYTE = 0,
  CAIRN_INT8 = 1,
  CAIRN_INT16 = 2,
  CAIRN_INT32 = 3,
  CAIRN_INT64 = 4,
  CAIRN_UINT8 = 5,
  CAIRN_UINT16 = 6,
  CAIRN_UINT32 = 7,
  CAIRN_UINT64 = 8,
  CAIRN_FLOAT = 9,
  CAIRN_DOUBLE = 10
} cairn_type;

/* Levels: local, partner, erasure-coded, global. */
enum { CAIRN_L1 = 1, CAIRN_L2 = 2, CAIRN_L3 = 3, CAIRN_L4 = 4 };

/* What the last restore did. */
typedef struct {
  int restored;         /* 0: a fresh start */
  uint32_t incarnation; /* of the snapshot that was restored */
  uint32_t version;
  uint32_t ranks_from[4]; /* application ranks of the job whose shard came from L1, L2, L3, L4 */
  int my_level;           /* where this rank's shard came from: CAIRN_L1 ... CAIRN_L4 */
  uint32_t lost_nodes;    /* nodes whose store was not there */
  double seconds;
} cairn_restore_status;

/* Collective over world. config: path of the INI file, read on rank 0; NULL or "": defaults. On failure *session is
 * NULL, on all ranks alike. */
int cairn_init(MPI_Comm world, const char* config, cairn_session** session);

/* Local. Protects count elements at data. The caller owns them; they must outlive the session, or be unprotected.
 * Protecting a name again replaces it. Where a rank's count differs from that in the snapshot, cairn_restore returns
 * CAIRN_ERR_MISMATCH on all ranks and leaves that rank's elements as they are. */
int cairn_protect(cairn_session* session, const char* name, void* data, cairn_type type, size_t count);
/* The same for an array of the given shape, slowest dimension first; dims 0 is a scalar. */
int cairn_protect_array(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape);
/* The same for a part of a larger array that spans ranks, so that L4 shows that array as one: its shape, and where the
 * part's first element lies in it. Both have dims numbers, in elements, slowest dimension first. */
int cairn_protect_part(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                       const size_t* shape, const size_t* global_shape, const size_t* offset);
/* The same for count elements of a type of the caller's own: its size in bytes, and a name that must match on restore.
 */
int cairn_protect_opaque(cairn_session* session, const char* name, void* data, const char* type_name,
                         size_t element_bytes, size_t count);
int cairn_unprotect(cairn_session* session, const char* name);

/* Collective. Takes a snapshot if one is due; *version (may be NULL) gets its number, or 0. A snapshot that fails
 * because of storage (a full disk, say) is logged once, and the job goes on: cairn_wait and cairn_finalize return
 * CAIRN_ERR_STORAGE if the newest snapshot is not as safe as asked. With [job] on_storage_error = throw this call
 * returns CAIRN_ERR_STORAGE, or the next one. cairn_storage_error has the text. */
int cairn_snapshot(cairn_session* session, uint32_t* version);
/* Collective in time. Sets due to 1 if the next cairn_snapshot will take one, else to 0; the same on all ranks. For
 * what is expensive to do before, such as to copy from a GPU. It is the first half of that cairn_snapshot, which then
 * does what is said here. To ask again changes nothing; a later restore makes it void. */
int cairn_due(cairn_session* session, int* due);
/* Collective. Takes a snapshot now and has it raised to level, CAIRN_L1 ... CAIRN_L4. */
int cairn_snapshot_to(cairn_session* session, int level, uint32_t* version);
/* Waits until the newest snapshot meant for level is safe there, or has failed (an error). */
int cairn_wait(cairn_session* session, int level);

/* Local. Why the last snapshot that failed because of storage failed, as this rank knows; "": none did in this session,
 * or there is no session. Valid until the next call with this session. */
const char* cairn_storage_error(const cairn_session* session);

/* Sets count to the elements that this rank's region of that name has in the snapshot that cairn_restore will restore,
 * 0 if it is not in it, or on a fresh start: to allocate an array that has grown before it is protected. Collective
 * when it is called first, local afterwards; before cairn_restore and the first cairn_snapshot. If that snapshot is
 * lost before cairn_restore, which then finds another one, a region whose size differs is CAIRN_ERR_MISMATCH. */
int cairn_stored_elements(cairn_session* session, const char* name, size_t* count);

/* Collective. Copies the newest snapshot that can be put together into the protected regions; CAIRN_OK also on a fresh
 * start (see cairn_restore_info). After an error region contents are undefined and snapshots are refused. */
int cairn_restore(cairn_session* session);
/* Collective. The same for one region, the same name on all ranks; other regions stay as they are. */
int cairn_restore_region(cairn_session* session, const char* name);
/* Local. What the last restore did. */
int cairn_restore_info(const cairn_session* session, cairn_restore_status* status);

/* Local. The application ranks' communicator: heads and spares are not in it. Cairn owns it: do not free it. It is
 * valid until MPI_Finalize, also after cairn_finalize. Only CAIRN_ROLLBACK ends its use before. */
int cairn_comm(const cairn_session* session, MPI_Comm* comm);
/* Local. For a communicator that is not made of that of cairn_comm, by each member before it waits there. Where the job
 * repairs itself, a failure then ends every wait on it as well; otherwise a rank may wait there for ever for another
 * that is alive and has gone back. Communicators made of cairn_comm's (MPI_Comm_dup, split, Cart_create ...), and of
 * those, are watched from the start, but with [job] tap = off. The caller still owns and frees comm. MPI_COMM_NULL is
 * ignored. */
int cairn_watch(cairn_session* session, MPI_Comm comm);
/* Local. 1 once a batch system's warning (SIGUSR1) has come; changes in the same snapshot call on all ranks. */
int cairn_should_stop(const cairn_session* session);

/* Local, and quick. 1 once this process knows that another one has died: the next Cairn call returns CAIRN_ROLLBACK.
 * For loops that make no Cairn call. */
int cairn_failed(const cairn_session* session);

/* Collective among the survivors. After any call returned CAIRN_ROLLBACK: repairs the job and renews the session, which
 * forgets its regions. Communicators and requests made from the old cairn_comm are void. */
int cairn_recover(cairn_session* session);
/* Local. CAIRN_FRESH, CAIRN_SURVIVOR or CAIRN_REPLACEMENT. */
int cairn_state(const cairn_session* session);

/* Collective. Waits for background work, ends as [restart] at_end says, frees the session and sets it to NULL, also
 * when it returns an error. Only after CAIRN_ROLLBACK the session is still there, for cairn_recover. After a restore
 * that failed all snapshots stay as they are, so that a later start can use them. */
int cairn_finalize(cairn_session** session);
/* Local. Ends the session of this rank without cairn_finalize: what is not safe yet is lost. Where the job repairs
 * itself ([recovery] mode = spares or respawn) this ends the job: it returns once the other ranks know, which they
 * learn in their next Cairn call, or MPI call on cairn_comm. */
void cairn_abandon(cairn_session** session);

/* Reads the log: `line` ends with the call, `data` is what cairn_set_log was given. */
typedef void (*cairn_log)(int level, const char* line, void* data);
/* Local. Cairn passes each line of its log to `log`, without the "cairn: " that it has on stderr; NULL sends the lines
 * to stderr again. Call it in each process before cairn_init; heads write lines, too. `log` is called from any thread,
 * also while the application computes, but never twice at once. It may call neither MPI nor Cairn. The caller owns
 * data, which has to live as long as log is set. [log] level says which lines there are. */
void cairn_set_log(cairn_log log, void* data);

/* Local. The version of the library that the program is linked with, as CAIRN_VERSION is that of this header. */
int cairn_version(void);
/* Local, also before MPI_Init. One line for a bug report: version and commit, the MPI and the HDF5 that the
 * library was built with, compiler and options. The library's; valid as long as the program runs. */
const char* cairn_build_info(void);

/* Local. The text of the last error of this thread; never NULL; valid until the thread's next call. */
const char* cairn_error_text(void);

#ifdef __cplusplus
}
#endif

#endif
