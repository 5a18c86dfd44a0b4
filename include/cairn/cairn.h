/* Cairn for C applications that use MPI. A program protects its variables and takes snapshots of them:
 *
 *     int simulate(cairn_session* session, void* argument) {
 *       int step = 0;
 *       MPI_Comm comm;
 *       cairn_comm(session, &comm);                          // the application communicates over comm
 *       cairn_protect(session, "plate", plate, CAIRN_DOUBLE, n);
 *       cairn_protect(session, "step", &step, CAIRN_INT32, 1);
 *       int code = cairn_restore(session);                   // does nothing on a fresh start
 *       while (code == CAIRN_OK && step < steps) {
 *         relax(plate, comm);
 *         ++step;                                            // before the snapshot
 *         code = cairn_snapshot(session, NULL);              // takes a snapshot if one is due
 *       }
 *       return code;
 *     }
 *
 *     int main(int argc, char** argv) {
 *       MPI_Init(&argc, &argv);
 *       const int code = cairn_run(MPI_COMM_WORLD, "heat.ini", simulate, NULL);
 *       MPI_Finalize();
 *       return code;
 *     }
 *
 * A region is a variable or array whose contents are in snapshots. A snapshot has a version, a number that grows. It
 * contains the regions of all ranks at one safe point: a place in the program where no message of the application is in
 * flight. A shard is the part of a snapshot that one rank writes. A node is a host; [topology] node_size can divide a
 * host into several nodes. On each node one rank may be a head: it copies snapshots to the other levels in the
 * background and does not compute. A spare is a rank that waits until it replaces a dead rank. The other ranks are the
 * application ranks. "[section] key" is a key of the configuration file; config/cairn.ini lists all keys.
 *
 * Collective calls: all application ranks make the same collective calls in the same order, at safe points. Local calls
 * do not communicate. All calls of a session come from one thread.
 *
 * Errors: calls return a code. A negative code is an error, and cairn_error_text() returns its text. Unless a comment
 * says otherwise, the session can still be used. No call ends the program. Cairn logs each error: once if all ranks
 * have it, otherwise with the number of the rank. To find out, a call that fails waits for the same error on the other
 * ranks: at most one second, or five in cairn_restore. If other ranks may not have the error, end the program with
 * MPI_Abort; they would wait for this rank. Every call that returns a code may return CAIRN_ERR_USAGE for a wrong
 * argument.
 *
 * Storage errors: cairn_snapshot returns CAIRN_OK if a snapshot fails because of storage, such as a full disk. The
 * failure is logged once, cairn_storage_error() returns its text, and the last good snapshot remains. cairn_wait and
 * cairn_finalize return CAIRN_ERR_STORAGE if the newest snapshot did not reach the level that was requested. With [job]
 * on_storage_error = throw, cairn_snapshot returns storage errors, too.
 */
/* With [recovery] mode = spares or respawn, the job continues after a process dies. In survivors, a C++ exception then
 * leaves the function that cairn_run calls, out of a Cairn call, or of an MPI call on the communicator of cairn_comm.
 * All application ranks enter the function again with a new session, protect their regions again, and call
 * cairn_restore. Processes that replace dead ones enter it, too. With [recovery] rollback = lost, survivors stay in
 * their MPI calls instead, if Cairn can replay the messages.
 *
 * What a C program must know about that:
 *
 * - The function is entered again in the same process. It sets all variables that it uses, also global and static ones.
 *   Parse the command line before cairn_run: getopt continues at optind, where it was.
 * - Nothing that the function holds is released: memory of malloc, open files, locks. Keep what is large, or what is
 *   needed again, behind argument, and make it only once.
 * - The exception passes C functions if they have unwind tables. GCC and Clang write them on x86-64 and arm64 unless
 *   they are told not to. -fexceptions writes them everywhere. Without them, the job ends with an error.
 * - The exception cannot leave an OpenMP region, another thread than the one that called cairn_run, or a C++ function
 *   that is noexcept. Make no MPI or Cairn calls there, and do not call cairn_run inside an OpenMP region.
 * - Do not leave the function by longjmp, and do not call exit or MPI_Finalize in it.
 *
 * Programs that cannot be written as such a function call cairn_init. There no exception leaves a call. The first Cairn
 * call that detects the failure returns CAIRN_ROLLBACK. Until then, MPI calls on the communicator of cairn_comm fail,
 * and their results are not valid. The application then calls cairn_recover, returns to the place after cairn_init, and
 * protects its regions again:
 *
 *     int code = cairn_init(MPI_COMM_WORLD, "heat.ini", &session);
 *     if (code != CAIRN_OK) { MPI_Finalize(); return code != CAIRN_HEAD; }
 *     for (;;) {
 *       code = compute(session);  // protect, restore, loop, finalize; returns at the first CAIRN_ROLLBACK
 *       if (code != CAIRN_ROLLBACK) break;
 *       if (cairn_recover(session) != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
 *     }
 *
 * A loop without Cairn calls may end by a result of MPI calls, such as a residual. After a failure these results are
 * not valid, and the loop might never end. So it must also test cairn_failed, or the codes of MPI calls, or leave by
 * longjmp from an error handler of the application, to the call of cairn_recover:
 *
 *     while (residual > limit && !cairn_failed(session)) {
 *       iterate(plate);
 *       MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_MAX, comm);
 *     }
 *
 * Cairn kills a rank that ignores a failure, and it is replaced like a dead one. This happens if 1,000 of its calls
 * have failed, in at least [recovery] limit, and it has not called cairn_recover.
 *
 * A process that calls exit or _exit before cairn_finalize ends the whole job, with a message in the log; so does an
 * error handler that calls exit.
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

/* A session: a process's part in a job that Cairn protects. cairn_run makes it and ends it; or cairn_init makes it, and
 * cairn_finalize ends it. */
typedef struct cairn_session cairn_session;

/* What calls return. The numbers never change. */
enum {
  CAIRN_OK = 0,                 /* success */
  CAIRN_HEAD = 1,               /* this rank was a head or a spare; the job is over for it */
  CAIRN_ROLLBACK = 2,           /* a process died: call cairn_recover and return to the place after cairn_init; not
                                   inside cairn_run */
  CAIRN_ERR_USAGE = -1,         /* an argument is wrong, or calls are in a wrong order */
  CAIRN_ERR_CONFIG = -2,        /* the configuration is wrong; the text names file, line and key */
  CAIRN_ERR_STORAGE = -3,       /* a store is full or failed; the job can continue, the last good snapshot remains */
  CAIRN_ERR_CORRUPT = -4,       /* stored data is damaged */
  CAIRN_ERR_UNRECOVERABLE = -5, /* snapshots exist, but none of them can be restored completely */
  CAIRN_ERR_MISMATCH = -6,      /* ranks or regions differ from those of the snapshot */
  CAIRN_ERR_TAKEN_OVER = -7,    /* another run of the job uses the same stores */
  CAIRN_ERR_COMMUNICATION = -8  /* a peer cannot be reached */
};

/* How severe a line of the log is. */
enum { CAIRN_LOG_ERROR = 0, CAIRN_LOG_WARNING = 1, CAIRN_LOG_INFO = 2, CAIRN_LOG_DEBUG = 3 };

/* How this process entered the application. CAIRN_FRESH: the job has just started. After a failure, CAIRN_SURVIVOR: it
 * was an application rank before. CAIRN_REPLACEMENT: it takes the place of a dead rank. */
enum { CAIRN_FRESH = 0, CAIRN_SURVIVOR = 1, CAIRN_REPLACEMENT = 2 };

/* The type of an element. CAIRN_BYTE is for untyped data. */
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

/* Where a snapshot is stored, and so which failures it survives. CAIRN_L1: in the node's own store; the death of
 * processes. CAIRN_L2: on partner nodes; the loss of nodes. CAIRN_L3: erasure-coded in groups of nodes; the loss of
 * nodes. CAIRN_L4: on the parallel file system; the loss of all nodes. */
enum { CAIRN_L1 = 1, CAIRN_L2 = 2, CAIRN_L3 = 3, CAIRN_L4 = 4 };

/* What the last restore did. */
typedef struct {
  int restored;           /* 1; 0: a fresh start, nothing was restored */
  uint32_t incarnation;   /* number of the run that took the restored snapshot */
  uint32_t version;       /* of the restored snapshot */
  uint32_t ranks_from[4]; /* application ranks of the job whose shard came from L1, L2, L3, L4 */
  int my_level;           /* level from which this rank's shard came: CAIRN_L1 ... CAIRN_L4 */
  uint32_t lost_nodes;    /* number of nodes that took part in the snapshot and whose store is missing */
  double seconds;         /* that the restore took */
  uint32_t old_ranks;     /* application ranks of the job that took the restored snapshot */
  uint64_t bytes_moved;   /* that shards and exchanged elements took between nodes, for the whole job; not from L4 */
} cairn_restore_status;

/* What the application does with a session, which is valid until the function is left. argument is the pointer that was
 * passed to cairn_run. Returns 0 when the work is done. Another number is a failure of the application; that may be the
 * code of a Cairn call. */
typedef int (*cairn_application)(cairn_session* session, void* argument);

/* Opens a session, calls function on the application ranks, and finalizes the session when function returns 0. Heads
 * serve their nodes meanwhile; spares wait. config is the path of the configuration file; only rank 0 of world reads
 * it. NULL or "" means the defaults. Inside function, do not call cairn_finalize, cairn_abandon and cairn_recover; they
 * return CAIRN_ERR_USAGE.
 *
 * If function returns another number, the job fails. The log has that number, unless it is the code that the last Cairn
 * call with an error has returned: then the log has that error already. If all application ranks fail, cairn_run
 * returns 1 on all of them. If only some do, the others would block forever. So cairn_run ends the job with MPI_Abort
 * after one second, or after five seconds if cairn_restore failed.
 *
 * Collective over world.
 * Requires: MPI is initialized.
 * Returns: the exit code for the program: 0, or 1 after an error, which the log has. cairn_error_text() returns its
 * text, as far as this rank knows. */
int cairn_run(MPI_Comm world, const char* config, cairn_application function, void* argument);

/* Opens a session. config is the path of the configuration file; only rank 0 of world reads it. NULL or "" means the
 * defaults. *session gets the session, or NULL after an error. On a head or a spare, the call serves until the job is
 * over for that rank.
 *
 * Collective over world.
 * Requires: MPI is initialized.
 * Returns: CAIRN_OK, CAIRN_HEAD, or an error, the same on all ranks. */
int cairn_init(MPI_Comm world, const char* config, cairn_session** session);

/* A part of a lost rank's state, while its steps are recomputed by its replacement and spares ([replay] helpers). A
 * step is what the application does from one cairn_snapshot to the next. Parts have numbers from 0. */
typedef struct cairn_part cairn_part;
/* The parts that a function split makes. */
typedef struct cairn_parts cairn_parts;

/* Computes a part from its first step to the last, in a spare or in a replacement: begins each step with
 * cairn_part_next_step, and calls cairn_part_finish at the end. It gets all that it needs from the part. It makes no
 * MPI call that involves other processes, and no call with a session. data is the pointer that was passed to
 * cairn_init_with_helpers. Returns CAIRN_OK, or the code of a call with the part that was not CAIRN_OK. */
typedef int (*cairn_compute_part)(cairn_part* part, void* data);
/* Cuts the state of this rank in count parts: calls cairn_add_part for each, in order. Returns CAIRN_OK, or another
 * code if it cannot. */
typedef int (*cairn_split)(cairn_parts* parts, uint32_t count, void* data);
/* Puts the state of this rank together, after so many steps: writes it into the regions, with all that has changed in
 * these steps, such as a step counter. parts and bytes have count elements. Cairn owns them; they are valid during the
 * call. Returns CAIRN_OK; cairn_restore fails with CAIRN_ERR_USAGE after another code. */
typedef int (*cairn_merge)(const void* const* parts, const size_t* bytes, uint32_t count, uint64_t steps, void* data);

/* Opens a session like cairn_init, for an application whose lost ranks spares help to replace. compute may be NULL:
 * spares do not help. All processes pass the same function. The caller owns data, which must stay valid until the
 * session is finalized. */
int cairn_init_with_helpers(MPI_Comm world, const char* config, cairn_compute_part compute, void* data,
                            cairn_session** session);
/* The same with cairn_run. */
int cairn_run_with_helpers(MPI_Comm world, const char* config, cairn_application function, void* argument,
                           cairn_compute_part compute, void* data);
/* Lets spares help to recompute the steps of this rank after its loss. Cairn calls split and merge with data inside
 * cairn_restore of a replacement. If not all parts can be computed, or if their messages are not those of the lost
 * rank, merge is not called, and the replacement computes alone.
 *
 * Local. To be called before cairn_restore. Replaces the functions of an earlier call.
 * Requires: data, which the caller owns, stays valid until cairn_restore returns.
 * Returns: CAIRN_ERR_USAGE if a function is NULL. */
int cairn_on_loss(cairn_session* session, cairn_split split, cairn_merge merge, void* data);
/* Adds a part of this many bytes, which are copied. To be called only by a function split. Local. */
int cairn_add_part(cairn_parts* parts, const void* state, size_t bytes);

/* The calls below are for a function that computes a part. part must not be NULL. They return CAIRN_ROLLBACK if the
 * part is not needed any more: return that code. Only cairn_part_receive_from_part may block. */
/* Returns the number of this part. Local. */
uint32_t cairn_part_number(const cairn_part* part);
/* Returns the number of parts, at least 2. Local. */
uint32_t cairn_part_count(const cairn_part* part);
/* Returns the lost rank: a rank in the communicator of cairn_comm. Local. */
uint32_t cairn_part_rank(const cairn_part* part);
/* Returns the number of application ranks. Local. */
uint32_t cairn_part_ranks(const cairn_part* part);
/* Returns what split has made for this part; *bytes gets its size, and may be NULL. Cairn owns the memory, which is
 * valid until the function that computes the part returns. Local. */
const void* cairn_part_state(const cairn_part* part, size_t* bytes);
/* Begins the next step. *more gets 0 if all steps are done, otherwise 1. To be called before each step, until *more is
 * 0. Local. */
int cairn_part_next_step(cairn_part* part, int* more);
/* Sends bytes that the lost rank has sent to rank in this step, with this tag on the communicator of cairn_comm.
 * Nothing is sent: Cairn compares them with what rank has received, and keeps a copy. All messages of the lost rank
 * with one peer and tag belong to one part, in their order. Local.
 *
 * Returns: CAIRN_ERR_USAGE before the first step or after the last. */
int cairn_part_send(cairn_part* part, uint32_t rank, int tag, const void* data, size_t bytes);
/* Receives bytes that the lost rank has received from rank in this step. Local.
 *
 * Returns: CAIRN_ERR_USAGE as above, or if there is no such message, or if it has another length. */
int cairn_part_receive(cairn_part* part, uint32_t rank, int tag, void* data, size_t bytes);
/* As MPI_Barrier. This and the functions below are the collective calls that the lost rank has made on the communicator
 * of cairn_comm in this step, with MPI's arguments, but for the communicator. Nothing is sent: the other ranks'
 * messages are those of the lost rank. So this part gives all that the lost rank gave, with the same bits, and gets
 * what the lost rank got. One part makes all collective calls, in their order. Parts send it what they give, such as
 * the sums of rows, and it adds these in the order in which the lost rank did. Local.
 *
 * Returns: CAIRN_ERR_USAGE before the first step or after the last, if the lost rank had not received a message of this
 * call, or if MPI does not accept the arguments. What a part sends is compared when all steps are done. */
int cairn_part_barrier(cairn_part* part);
/* As MPI_Bcast; see cairn_part_barrier. */
int cairn_part_bcast(cairn_part* part, void* buffer, int count, MPI_Datatype type, int root);
/* As MPI_Gather; see cairn_part_barrier. */
int cairn_part_gather(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                      int to_count, MPI_Datatype to_type, int root);
/* As MPI_Gatherv; see cairn_part_barrier. */
int cairn_part_gatherv(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                       const int* to_counts, const int* to_places, MPI_Datatype to_type, int root);
/* As MPI_Scatter; see cairn_part_barrier. */
int cairn_part_scatter(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                       int to_count, MPI_Datatype to_type, int root);
/* As MPI_Scatterv; see cairn_part_barrier. */
int cairn_part_scatterv(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                        MPI_Datatype from_type, void* to, int to_count, MPI_Datatype to_type, int root);
/* As MPI_Allgather; see cairn_part_barrier. */
int cairn_part_allgather(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                         int to_count, MPI_Datatype to_type);
/* As MPI_Allgatherv; see cairn_part_barrier. */
int cairn_part_allgatherv(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                          const int* to_counts, const int* to_places, MPI_Datatype to_type);
/* As MPI_Alltoall; see cairn_part_barrier. */
int cairn_part_alltoall(cairn_part* part, const void* from, int from_count, MPI_Datatype from_type, void* to,
                        int to_count, MPI_Datatype to_type);
/* As MPI_Alltoallv; see cairn_part_barrier. */
int cairn_part_alltoallv(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                         MPI_Datatype from_type, void* to, const int* to_counts, const int* to_places,
                         MPI_Datatype to_type);
/* As MPI_Alltoallw; see cairn_part_barrier. */
int cairn_part_alltoallw(cairn_part* part, const void* from, const int* from_counts, const int* from_places,
                         const MPI_Datatype* from_types, void* to, const int* to_counts, const int* to_places,
                         const MPI_Datatype* to_types);
/* As MPI_Reduce; see cairn_part_barrier. */
int cairn_part_reduce(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root);
/* As MPI_Allreduce; see cairn_part_barrier. */
int cairn_part_allreduce(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
/* As MPI_Reduce_scatter_block; see cairn_part_barrier. */
int cairn_part_reduce_scatter_block(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type,
                                    MPI_Op op);
/* As MPI_Reduce_scatter; see cairn_part_barrier. */
int cairn_part_reduce_scatter(cairn_part* part, const void* from, void* to, const int* counts, MPI_Datatype type,
                              MPI_Op op);
/* As MPI_Scan; see cairn_part_barrier. */
int cairn_part_scan(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
/* As MPI_Exscan; see cairn_part_barrier. */
int cairn_part_exscan(cairn_part* part, const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
/* Sends bytes to another part. Messages between two parts with one tag arrive in their order. The call copies the
 * bytes, and does not wait for a receive.
 *
 * Returns: CAIRN_ERR_USAGE if there is no such part, or if it is this one. */
int cairn_part_send_to_part(cairn_part* part, uint32_t other, int tag, const void* data, size_t bytes);
/* Waits for bytes from another part.
 *
 * Returns: CAIRN_ERR_USAGE as above, or if they have another length. */
int cairn_part_receive_from_part(cairn_part* part, uint32_t other, int tag, void* data, size_t bytes);
/* Sets the state of the part after the last step, which is copied. Local. */
int cairn_part_finish(cairn_part* part, const void* state, size_t bytes);

/* Protects count elements at data. A region with this name that is protected already is replaced. name is 1 to 255
 * bytes long, without '/' and control characters, and not ".".
 *
 * The session keeps the address data, not the variable that it came from. If the program swaps two pointers, or
 * allocates an array again, the session still copies from and to the old addresses, and a restart computes with wrong
 * numbers. Use cairn_protect_pointer for such arrays.
 *
 * Local.
 * Requires: the elements outlive the session or are unprotected first. The caller owns them.
 * Returns: CAIRN_ERR_USAGE if an argument is not valid. cairn_restore returns CAIRN_ERR_MISMATCH on all ranks if a
 * rank's count differs from that in the snapshot; that rank's elements then stay as they were. */
int cairn_protect(cairn_session* session, const char* name, void* data, cairn_type type, size_t count);
/* Protects an array. shape has dims numbers of elements, slowest dimension first. With dims 0 it is a scalar, and shape
 * may be NULL. Otherwise like cairn_protect. Local. */
int cairn_protect_array(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape);
/* Protects this rank's part of a global array that spans ranks, so that L4 files show that array as one. global_shape
 * is its shape, offset is the place of the part's first element in it. shape, global_shape and offset have dims numbers
 * each, in elements, slowest dimension first; dims is at least 1. If the snapshot has another place, restore returns
 * CAIRN_ERR_MISMATCH, or with [restart] elastic = on, it moves the elements between ranks. Otherwise like
 * cairn_protect_array. Local. */
int cairn_protect_part(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                       const size_t* shape, const size_t* global_shape, const size_t* offset);
/* Protects a part with ghosts: elements around the rank's own ones, which are copies of other ranks' elements, or a
 * border outside the global array. ghosts_before and ghosts_after are their widths before and after the own elements.
 * They have dims numbers each; NULL means no ghosts. shape is that of the array with its ghosts; offset is the place of
 * the first own element. Ghosts are saved, too. If elements move between ranks, ghosts are filled with the elements
 * that their owners get; ghosts outside the global array stay as they are. Otherwise like cairn_protect_part. Local. */
int cairn_protect_block(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape, const size_t* global_shape, const size_t* offset,
                        const size_t* ghosts_before, const size_t* ghosts_after);
/* Protects count elements of the caller's own type. element_bytes is its size in bytes; restore compares it and
 * type_name. Otherwise like cairn_protect. Local. */
int cairn_protect_opaque(cairn_session* session, const char* name, void* data, const char* type_name,
                         size_t element_bytes, size_t count);
/* Protects count elements at the address that a pointer variable has at each snapshot and restore. pointer is the
 * address of that variable, as in cairn_protect_pointer(session, "now", &now, CAIRN_DOUBLE, n). The program may then
 * swap the pointer with another, or allocate the array again with the same number of elements. Otherwise like
 * cairn_protect.
 *
 * Local.
 * Requires: the pointer variable outlives the session or the region is unprotected first. It is a data pointer.
 * Returns: as cairn_protect; CAIRN_ERR_USAGE if pointer is NULL. A snapshot or restore returns CAIRN_ERR_USAGE while
 * the variable is NULL, unless count is 0. */
int cairn_protect_pointer(cairn_session* session, const char* name, const void* pointer, cairn_type type, size_t count);
/* As cairn_protect_array, at the address that a pointer variable has; see cairn_protect_pointer. Local. */
int cairn_protect_pointer_array(cairn_session* session, const char* name, const void* pointer, cairn_type type,
                                int dims, const size_t* shape);
/* As cairn_protect_part, at the address that a pointer variable has; see cairn_protect_pointer. Local. */
int cairn_protect_pointer_part(cairn_session* session, const char* name, const void* pointer, cairn_type type, int dims,
                               const size_t* shape, const size_t* global_shape, const size_t* offset);
/* As cairn_protect_block, at the address that a pointer variable has; see cairn_protect_pointer. Local. */
int cairn_protect_pointer_block(cairn_session* session, const char* name, const void* pointer, cairn_type type,
                                int dims, const size_t* shape, const size_t* global_shape, const size_t* offset,
                                const size_t* ghosts_before, const size_t* ghosts_after);
/* As cairn_protect_opaque, at the address that a pointer variable has; see cairn_protect_pointer. Local. */
int cairn_protect_pointer_opaque(cairn_session* session, const char* name, const void* pointer, const char* type_name,
                                 size_t element_bytes, size_t count);
/* The bytes of an object, while it is saved. */
typedef struct cairn_object cairn_object;
/* Saves an object: passes its state to cairn_put, in pieces of any size. data is the pointer that was passed to
 * cairn_protect_object. Returns 0; another number fails the snapshot. */
typedef int (*cairn_save)(cairn_object* object, void* data);
/* Loads an object: replaces its state by the count bytes that were saved. Cairn owns them; they are valid during the
 * call. Returns 0; another number fails the restore. */
typedef int (*cairn_load)(const void* bytes, size_t count, void* data);

/* Protects an object that is no plain memory, such as a tree, by two functions of the program. cairn_snapshot calls
 * save once on each rank, if it takes a snapshot. The bytes of all objects of a rank are in its memory until they are
 * written. The size may differ at each snapshot. cairn_restore calls load once, after all ranks have read the same
 * snapshot: for all objects, in the order of protection, after all other regions have their contents. On a fresh start,
 * it is not called. The functions call neither MPI nor Cairn, except cairn_put.
 *
 * An object is no sequence: its kind is cairn_kind_same, if all ranks save the same bytes, or cairn_kind_of_rank. Ends
 * with cairn_unprotect, as other regions.
 *
 * Local.
 * Requires: data, which the caller owns, stays valid until the object is unprotected or the session has ended.
 * Returns: CAIRN_ERR_USAGE if a function is NULL, or if the name is not valid. If save fails, the snapshot fails on all
 * ranks, as after a storage error. If load fails, cairn_restore returns CAIRN_ERR_MISMATCH on all ranks; the text names
 * rank and object. */
int cairn_protect_object(cairn_session* session, const char* name, cairn_save save, cairn_load load, void* data);
/* Adds bytes to an object, which are copied. To be called only by a function save. Local.
 *
 * Returns: CAIRN_ERR_STORAGE if there is no memory for them. */
int cairn_put(cairn_object* object, const void* bytes, size_t count);
/* Protects a file that this rank writes, such as a log or a result, with its length and permissions. A snapshot
 * contains the file as it is then. It fails on all ranks if the file is missing, cannot be read, or changes meanwhile.
 * The same holds for links, and for all that is no regular file. cairn_restore puts the file back, after all ranks have
 * read the same snapshot: all files are first written beside the old ones, and then renamed. So an error, such as a
 * full disk, leaves all files as they were. A file that begins with the stored bytes is truncated in place instead: a
 * log that is open for appending stays right. Objects are loaded after that. On a fresh start, files stay as they are.
 *
 * Write what is in buffers before cairn_snapshot, as by fflush. Open other files than logs after cairn_restore. One
 * file is protected by one rank. path may be relative to the working directory of this moment. The kind for another
 * number of ranks is cairn_kind_of_rank, or cairn_kind_same if all ranks have the same file, each at its own path. The
 * files are in memory then, and keep the permissions of the files that are there.
 *
 * Local.
 * Returns: CAIRN_ERR_USAGE if the name or the path is not valid. If a file cannot be put back, cairn_restore returns
 * CAIRN_ERR_STORAGE on all ranks; the text names rank and file. */
int cairn_protect_file(cairn_session* session, const char* name, const char* path);
/* Protects a directory that this rank writes to, with all files and directories in it, as one region. What holds for
 * cairn_protect_file holds for each of its files: cairn_restore prepares all of them before it changes any, and
 * permissions are restored, too. Directories that are missing are made. Files that have appeared since the snapshot
 * stay. A snapshot fails on all ranks if there is a link in the directory, or a special file, or if anything changes
 * meanwhile; the text names it. Kinds are those of a file.
 *
 * Local.
 * Returns: as cairn_protect_file. */
int cairn_protect_directory(cairn_session* session, const char* name, const char* path);
/* Protects a file in the node's own store, and sets *path to its path. It is for a program that writes a file for each
 * snapshot, as by a library, and then needs it no more. The program writes the file before cairn_snapshot, and closes
 * it. When the snapshot has been taken, or has failed, the file is removed: its contents are in the snapshot. If
 * cairn_due gives 0, the next cairn_snapshot needs no file. cairn_restore puts the file there, to be read; it stays
 * until the next snapshot. On a fresh start it is missing. The file takes room in the node's store, which may be its
 * memory.
 *
 * The name of the file is that of the region, so that it may end with ".h5". The session owns *path, which stays the
 * same and valid as long as the region is protected. Another call with this name gives it again, and changes nothing.
 * cairn_unprotect, another region with this name, and the end of the session remove the file. Kinds are those of a
 * file.
 *
 * Local. Called before cairn_restore.
 * Returns: CAIRN_ERR_USAGE if the name is not valid, or begins with '.'. CAIRN_ERR_STORAGE if the node's store cannot
 * be written. A snapshot fails on all ranks if a rank has not written its file since the last one, or since
 * cairn_restore. */
int cairn_scratch_file(cairn_session* session, const char* name, const char** path);
/* Gives a file, or a scratch file, that is protected as name a destination: when a snapshot reaches L4, the file is
 * also written there, plainly, for other programs. "{version}" and "{rank}" in the path stand for their numbers:
 * "/project/run7/state-{version}.h5". The directory must exist on all nodes. The file is complete when it has that
 * name; one that is there is replaced. The session removes no file there, so files with a version in their names stay
 * until somebody removes them. cairn_restore does not read them. An empty path or NULL ends it, as does protecting the
 * name again.
 *
 * Local. Each rank's destination is a file of its own.
 * Returns: CAIRN_ERR_USAGE if no file is protected as name, or if the path is that file's own. If the file cannot be
 * written there, the snapshot does not reach L4, which is reported like other storage errors. */
int cairn_destination(cairn_session* session, const char* name, const char* path);
/* Ends the protection of a region: later snapshots do not contain it.
 *
 * Local.
 * Returns: CAIRN_ERR_USAGE if no region has this name. */
int cairn_unprotect(cairn_session* session, const char* name);

/* Kinds: what a protected region is to the whole job. They tell which elements go to which rank if a job has another
 * number of ranks than its snapshot, and [restart] elastic = on. Otherwise they change nothing, except that
 * cairn_kind_sequence_part and cairn_kind_of_rank may name elements of other ranks:
 *
 *     cairn_protect(session, "step", &step, CAIRN_INT32, 1);
 *     cairn_kind_same(session, "step");
 *
 * A part of a global array needs no kind. A region without a kind can only be restored by as many ranks as the snapshot
 * has. A region that is protected again under its name keeps its kind. Kinds are not stored: the program that restores
 * sets them before cairn_restore.
 *
 * The memory of a region in C has a fixed size. A sequence must have room for exactly this rank's share; otherwise
 * cairn_restore returns CAIRN_ERR_MISMATCH on all ranks. So the program asks for the share, and allocates it:
 *
 *     size_t total, count = my_count;                    // of a fresh start
 *     cairn_stored_total(session, "ids", &total);        // 0: a fresh start
 *     if (total > 0) cairn_stored_elements(session, "ids", &count);
 *     uint64_t* ids = malloc(count * sizeof *ids);
 *     double* x = malloc(3 * count * sizeof *x);
 *     cairn_protect(session, "ids", ids, CAIRN_UINT64, count);
 *     cairn_kind_sequence(session, "ids");
 *     cairn_protect(session, "x", x, CAIRN_DOUBLE, 3 * count);
 *     cairn_kind_like(session, "x", "ids");
 *     cairn_restore(session);
 *
 * All calls are local, and return CAIRN_ERR_USAGE if no region has this name, or if it is a part of a global array. */

/* Says that all ranks have the same value, such as a step counter. cairn_restore compares the values of all old ranks.
 * Of an opaque type, padding bytes count, too. */
int cairn_kind_same(cairn_session* session, const char* name);
/* Says that the elements of all ranks, in the order of ranks, are one sequence, such as particles. An element is one
 * step in the region's first dimension. On another number of ranks, each rank gets an equal share; the order stays. */
int cairn_kind_sequence(cairn_session* session, const char* name);
/* Says the same, and that this rank gets count elements, from first on. The parts of all ranks cover each element of
 * the sequence exactly once. The next snapshot has the elements in the order of ranks again. */
int cairn_kind_sequence_part(cairn_session* session, const char* name, size_t first, size_t count);
/* Says that the region is a sequence that is cut where the region sequence is. On each old rank, it has as many
 * elements, or k times as many, with one k for all ranks. */
int cairn_kind_like(cairn_session* session, const char* name, const char* sequence);
/* Says that the region gets what rank rank of the snapshot had. Other old ranks need not have it. */
int cairn_kind_of_rank(cairn_session* session, const char* name, uint32_t rank);

/* Takes a snapshot if one is due by [levels]. *version gets its version, or 0 if none was due; version may be NULL. The
 * call returns as soon as the regions are copied into the node's store; promotion to higher levels happens in the
 * background. With [head] mode = inline it returns when the snapshot has reached all its levels. It blocks while the
 * head still needs all older copies on the node, at most for [head] wait_limit.
 *
 * Collective, but not a barrier: unless [head] mode = inline, a rank waits only for ranks that are more than one call
 * behind.
 * Returns: also errors of background work; see above for storage errors. CAIRN_ERR_USAGE after cairn_finalize. The
 * error of a cairn_restore that failed. */
int cairn_snapshot(cairn_session* session, uint32_t* version);
/* Sets *due to 1 if the next cairn_snapshot will take a snapshot, otherwise to 0; the result is the same on all ranks.
 * Use it before expensive preparations, such as a copy from a GPU. It makes the decision of that cairn_snapshot in
 * advance: calling it again before cairn_snapshot changes nothing. A restore cancels the decision.
 *
 * Collective like cairn_snapshot, at a safe point.
 * Returns: as cairn_snapshot. */
int cairn_due(cairn_session* session, int* due);
/* Takes a snapshot now, whether or not one is due, and has it promoted to level, CAIRN_L1 ... CAIRN_L4. *version gets
 * its version; version may be NULL.
 *
 * Collective like cairn_snapshot.
 * Returns: as cairn_snapshot. CAIRN_ERR_USAGE if level is off in this job. */
int cairn_snapshot_to(cairn_session* session, int level, uint32_t* version);

/* Gives the next snapshot that is taken a label, which can then be restored by it, and which ckpt-tool lists. Another
 * call before that snapshot replaces the label. If that snapshot fails, the next one gets the label, except where ranks
 * have set different ones, or have already taken the next one when they learn of the failure. The label has 1 to 255
 * bytes, without control characters. It is not what [restart] version takes for a version: a number, "newest" or a text
 * that ends with " again".
 *
 * Local. All ranks set the same label. A rank may set none, but then its node does not know the label if the other
 * nodes are lost.
 * Returns: CAIRN_ERR_USAGE if the label is not valid. If ranks set different ones, the snapshot fails, and a later call
 * returns CAIRN_ERR_MISMATCH. */
int cairn_label(cairn_session* session, const char* label);
/* Pins the next snapshot that is taken: it is also written to L4, even with [levels] l4 = off. It stays there until
 * ckpt-tool unpin, in addition to the [storage] keep_global newest ones. In node stores it is kept like others. It is
 * pinned once it has reached L4.
 *
 * Local. All ranks call it before the same snapshot; otherwise that snapshot fails. */
int cairn_pin(cairn_session* session);
/* Sets an attribute of this snapshot and of later ones, such as the simulated time. region is the region that it is of;
 * NULL: it is of the whole snapshot. Setting it again replaces the value. Attributes are listed by ckpt-tool, and are
 * in the HDF5 files of L4. A restore sets those of the snapshot again; set what belongs to this run after it. A
 * snapshot has at most 64 attributes. A name has 1 to 255 bytes, without control characters, a text at most 1024.
 *
 * Local. All ranks set the same attributes, or none.
 * Returns: CAIRN_ERR_USAGE if name or value are not valid. If ranks set different ones, the snapshot fails, and a later
 * call returns CAIRN_ERR_MISMATCH. */
int cairn_attribute_number(cairn_session* session, const char* region, const char* name, double value);
/* The same for a whole number. Local. */
int cairn_attribute_whole(cairn_session* session, const char* region, const char* name, int64_t value);
/* The same for a text. Local. */
int cairn_attribute_text(cairn_session* session, const char* region, const char* name, const char* text);
/* Returns the label of the snapshot that the last restore of this session restored; "" if it has none, or on a fresh
 * start. Valid until the next restore, and while the session is open. Local. */
const char* cairn_restored_label(const cairn_session* session);
/* Blocks until the newest snapshot that was to reach level has reached it. Returns at once if there is none.
 *
 * Collective.
 * Returns: the error of that snapshot if it failed; errors of background work. */
int cairn_wait(cairn_session* session, int level);
/* Sets *version to the newest version that has reached level on all nodes, as far as this rank knows; 0: none has. For
 * a program that keeps files of its own until a snapshot is safe. Local.
 *
 * Returns: CAIRN_ERR_USAGE for a wrong level. */
int cairn_safe_version(cairn_session* session, int level, uint32_t* version);

/* Returns why a snapshot last failed because of storage, as far as this rank knows. "" if none failed in this session,
 * or if session is NULL. The session owns the text, which is valid until the next call with this session. Local. */
const char* cairn_storage_error(const cairn_session* session);

/* Sets *count to the number of elements that this rank's region of this name has in the snapshot that cairn_restore
 * will restore. 0 if the region is not in that snapshot, or on a fresh start. Use it to allocate an array of that size
 * before it is protected. If that snapshot is lost before cairn_restore, another one is restored; a region whose size
 * differs there is CAIRN_ERR_MISMATCH. On another number of ranks, it is the number that this rank will get, by the
 * kind or place that the region has now. A region that is not protected counts as a sequence.
 *
 * The first call of cairn_stored_elements or cairn_stored_total is collective, later calls are local.
 * Requires: neither cairn_restore nor cairn_snapshot was called before the first call.
 * Returns: as cairn_restore. CAIRN_ERR_USAGE for a region of one old rank on another number of ranks. */
int cairn_stored_elements(cairn_session* session, const char* name, size_t* count);
/* Sets *count to the number of elements that the regions of this name of all ranks have together in that snapshot. 0 if
 * no rank has one, or on a fresh start. Use it for a sequence that the program cuts itself. Otherwise like
 * cairn_stored_elements. */
int cairn_stored_total(cairn_session* session, const char* name, size_t* count);

/* Copies the newest recoverable snapshot into the protected regions. On a fresh start it changes nothing: there are no
 * snapshots, or [restart] mode = fresh. cairn_restore_info returns whether something was restored.
 *
 * Collective.
 * Requires: the same regions are protected as in the snapshot, with the same types and shapes.
 * Returns: CAIRN_OK, also on a fresh start. CAIRN_ERR_UNRECOVERABLE: snapshots exist, but none can be restored.
 * CAIRN_ERR_MISMATCH: ranks or regions differ; the text lists the differences. After an error, the contents of the
 * regions are undefined, except where cairn_protect says otherwise; cairn_snapshot fails until a restore succeeds. */
int cairn_restore(cairn_session* session);
/* Restores this version, which need not be the newest. Then the job is on the branch of this version: newer versions
 * are not restored any more, and are removed when one of the branch has reached the same levels. Later runs repeat the
 * program's first call. So that call does not choose the version that was the last to be chosen at a start: it restores
 * the newest of the job's branch. A later call restores this version in any case.
 *
 * The version may be of a job that has finished. A version that the user chooses at the start ([restart] version)
 * comes before that of the first call, and a fresh start ([restart] mode = fresh) before both.
 *
 * Collective. All ranks pass the same version.
 * Returns: as cairn_restore. CAIRN_ERR_USAGE if the version is 0. CAIRN_ERR_UNRECOVERABLE if this version cannot be
 * restored; the text lists those that can. */
int cairn_restore_version(cairn_session* session, uint32_t version);
/* The same for the newest snapshot with this label.
 *
 * Collective. All ranks pass the same label.
 * Returns: as cairn_restore_version. CAIRN_ERR_USAGE if the text cannot be a label. CAIRN_ERR_UNRECOVERABLE if no
 * snapshot has it; the text lists the labels that there are. */
int cairn_restore_label(cairn_session* session, const char* label);
/* Does the same as cairn_restore for one region; other regions keep their contents. All ranks pass the same name.
 *
 * Collective.
 * Returns: as cairn_restore. */
int cairn_restore_region(cairn_session* session, const char* name);
/* Sets *status to what the last restore of this session did. Local. */
int cairn_restore_info(const cairn_session* session, cairn_restore_status* status);

/* A snapshot that is open for reading, while the job runs:
 *
 *     cairn_reader* old;
 *     cairn_open_snapshot(session, 7, NULL, &old);
 *     cairn_reader_read(old, "plate", copy, sizeof copy, NULL);
 *     cairn_reader_close(&old, is_good(copy), &all_good);
 *
 * It keeps its contents until it is closed: cairn_snapshot and cairn_restore do not change them. It takes the room of
 * one snapshot in the node's store, in addition to those that are kept, until the next snapshot after it is closed. */
typedef struct cairn_reader cairn_reader;

/* What is open. */
typedef struct {
  uint32_t version;     /* of the snapshot */
  uint32_t incarnation; /* number of the run that took the snapshot */
  const char* label;    /* "": it has none; the reader owns the text */
  size_t regions;       /* number of regions of this rank */
} cairn_reader_status;

/* A region as this rank has it in a snapshot. The reader owns what is pointed to. */
typedef struct {
  const char* name;      /* of the region */
  const char* type_text; /* for a person: "float64[100][20]", "object(123 B)" */
  cairn_type type;       /* CAIRN_BYTE also for types that are not in that list */
  size_t element_bytes;  /* of one element */
  size_t elements;       /* number of elements, with ghosts */
  size_t bytes;          /* of the region */
  size_t dimensions;     /* 0: one value */
  const uint64_t* shape; /* slowest dimension first, with ghosts; dimensions numbers */
} cairn_region_info;

/* Opens this version, if it is not 0; or the newest snapshot with this label, if it is not NULL. Otherwise it opens the
 * newest one: what cairn_restore would restore. Nothing is restored, and protected regions keep their contents. It
 * comes from any level, as a restore does. The call is possible before cairn_restore, and
 * between cairn_snapshot calls. It waits until earlier snapshots have reached their levels. With [recovery] rollback =
 * lost, all ranks roll back after a failure in a job that has called it. The caller owns *reader, and closes or drops
 * it.
 *
 * Collective. All ranks pass the same version and label.
 * Requires: the job has as many ranks as the one that took the snapshot.
 * Returns: the same code on all ranks. CAIRN_ERR_UNRECOVERABLE if it cannot be read; the text lists the versions, or
 * labels, that there are. CAIRN_ERR_MISMATCH if it has another number of ranks. */
int cairn_open_snapshot(cairn_session* session, uint32_t version, const char* label, cairn_reader** reader);
/* Sets *status to what is open. Local. */
int cairn_reader_info(cairn_reader* reader, cairn_reader_status* status);
/* Sets *region to a region of this rank, by its number from 0, in the order in which they were protected. Local. */
int cairn_reader_region(cairn_reader* reader, size_t index, cairn_region_info* region);
/* Copies this rank's region into memory of the caller, which has room for capacity bytes, and sets *bytes to the number
 * of bytes of the region; bytes may be NULL. Of an object, these are the bytes that it was saved as; of a file, its
 * contents. Each block is checked. Ranks may read different regions.
 *
 * Local.
 * Returns: CAIRN_ERR_USAGE if the snapshot has no such region on this rank, or if the region is larger than capacity.
 * CAIRN_ERR_CORRUPT if the store has damaged the bytes. */
int cairn_reader_read(cairn_reader* reader, const char* name, void* into, size_t capacity, size_t* bytes);
/* Writes this rank's file or directory to path, as cairn_restore would put it back at its own place. Files there are
 * replaced as a whole. After an error, they stay as they were. Of a directory, files that the snapshot does not have
 * stay. It needs no memory for the contents. Ranks may write different ones, each to a path of its own.
 *
 * Local.
 * Returns: CAIRN_ERR_USAGE if the snapshot has no such region on this rank, or if it is no file and no directory.
 * CAIRN_ERR_STORAGE if the files cannot be written. CAIRN_ERR_CORRUPT if the store has damaged the bytes. */
int cairn_reader_extract(cairn_reader* reader, const char* name, const char* path);
/* Closes and frees the reader, also after an error, and sets *reader to NULL. good is whether this rank can use the
 * snapshot. If a rank passes 0, the snapshot is rejected: this run neither opens nor restores it again. Later runs do
 * so only if somebody chooses it. A run that has neither restored nor taken a snapshot leaves no record, so the next
 * one opens it again. *all_good is 1 if no rank has rejected it, otherwise 0; all_good may be NULL.
 *
 * Collective.
 * Returns: the same code on all ranks. CAIRN_ERR_MISMATCH if ranks close different versions. */
int cairn_reader_close(cairn_reader** reader, int good, int* all_good);
/* Closes and frees the reader on this rank, and sets *reader to NULL. Does nothing if reader or *reader is NULL. Local.
 */
void cairn_reader_drop(cairn_reader** reader);

/* Sets *comm to the communicator of the application ranks, without heads and spares. Cairn owns it: do not free it. It
 * is valid until MPI_Finalize, even after cairn_finalize. After CAIRN_ROLLBACK it must not be used any more.
 * With [recovery] rollback = lost, it stays valid in survivors while the session is open. Local. */
int cairn_comm(const cairn_session* session, MPI_Comm* comm);
/* Adds a communicator to those that Cairn revokes when a process dies. Call this for a communicator that was not made
 * from that of cairn_comm. Otherwise a rank may block there forever, waiting for a rank that has already rolled back.
 * Cairn watches communicators made from that of cairn_comm without this call (MPI_Comm_dup, MPI_Comm_split,
 * MPI_Cart_create and so on), unless [job] tap = off. Does nothing if the job does not repair itself, or if comm is
 * MPI_COMM_NULL. The caller still owns comm and frees it.
 *
 * Local. Each member calls it before it first waits on comm. */
int cairn_watch(cairn_session* session, MPI_Comm comm);
/* Returns 1 if the job has been asked to stop: SIGUSR1, or [restart] stop_signal, has arrived at any rank. Otherwise 0.
 * The cairn_snapshot call that notices it takes a snapshot for L4 and changes the result, in the same call on all
 * ranks. That is at most 66 calls after the signal. Local. */
int cairn_should_stop(const cairn_session* session);

/* Reports that something seems to be wrong with this rank or its node, for example that a check of a result fails.
 * text says what, in a few words for a person; of a text of more than 200 bytes, the beginning is used. The log has it,
 * and fault localization examines the rank and its node: ckpt-tool health shows what it finds. The report alone has no
 * other effect. If a probe confirms a fault, [localize] act sets what follows.
 *
 * Local. Errors: CAIRN_ERR_USAGE if the text is empty, or after cairn_finalize. */
int cairn_suspect(cairn_session* session, const char* text);

/* Returns 1 if this process knows that another process has died, otherwise 0. The next Cairn call then returns
 * CAIRN_ROLLBACK. For loops without Cairn calls. Local, fast. */
int cairn_failed(const cairn_session* session);

/* Returns 1 if this process replaces a dead rank and has not caught up with it ([recovery] rollback = lost), otherwise
 * 0. It is 1 from cairn_restore until the process has computed again what the dead rank had computed, at least until
 * its first message or cairn_snapshot. The survivors do not repeat their calls. So between cairn_restore and the loop
 * of time steps, the application must not communicate while this is 1. It is 0 if the process has restored what all
 * ranks had restored: then it repeats all their calls. Local. */
int cairn_catches_up(const cairn_session* session);

/* Repairs the job after any call returned CAIRN_ROLLBACK, and renews the session, which then has no regions and another
 * communicator. Communicators made from the old one, and requests from before the failure, must not be used any more.
 * For programs that call cairn_init: cairn_run does this itself.
 *
 * Collective over the survivors.
 * Returns: CAIRN_ERR_USAGE if the job does not repair itself. CAIRN_ERR_COMMUNICATION if the job is over. */
int cairn_recover(cairn_session* session);
/* Returns CAIRN_FRESH, CAIRN_SURVIVOR or CAIRN_REPLACEMENT: how this process entered the application last. Local. */
int cairn_state(const cairn_session* session);

/* Waits for background work, writes the newest snapshot to L4, and ends the job as [restart] at_end says. Frees the
 * session and sets it to NULL, even after an error. Only after CAIRN_ROLLBACK the session remains, for cairn_recover.
 * After a restore that failed, or without any restore or snapshot, all snapshots stay as they are, so that a later run
 * can use them.
 *
 * Collective.
 * Returns: errors of background work that no call has returned yet; the error of the newest snapshot, if it reached
 * neither the requested levels nor higher ones. */
int cairn_finalize(cairn_session** session);
/* Ends this rank's session without cairn_finalize: snapshots that are not complete are lost. Frees the session and sets
 * it to NULL. Calls of other ranks that need this rank fail. If the job repairs itself, this ends the job: the call
 * returns, and the other ranks end. They detect it in their next Cairn call, or MPI call on cairn_comm. Local. */
void cairn_abandon(cairn_session** session);

/* A function that receives the log. level is CAIRN_LOG_ERROR ... CAIRN_LOG_DEBUG. line is valid only during the call.
 * data is the pointer that was passed to cairn_set_log. */
typedef void (*cairn_log)(int level, const char* line, void* data);
/* Passes each line of Cairn's log to log, without the prefix "cairn: ", instead of writing it to stderr. NULL restores
 * stderr. [log] level chooses the lines. Cairn calls log from any of its threads, even while the application computes,
 * but never from two threads at once.
 *
 * Local.
 * Requires: it is called in each process, before cairn_init, since heads write lines too. log calls neither MPI nor
 * Cairn. data, which the caller owns, stays valid until log is replaced. */
void cairn_set_log(cairn_log log, void* data);

/* Returns the version of the library as one number, like CAIRN_VERSION: 10203 is 1.2.3. Local. */
int cairn_version(void);
/* Returns one line for a bug report: version and commit, the MPI and HDF5 that the library was built with, compiler and
 * options. The library owns the text, which stays valid until the program ends. Local. May be called before MPI_Init.
 * */
const char* cairn_build_info(void);

/* Returns the text of this thread's last error, never NULL. It is valid until the thread's next Cairn call. Local. */
const char* cairn_error_text(void);

#ifdef __cplusplus
}
#endif

#endif
