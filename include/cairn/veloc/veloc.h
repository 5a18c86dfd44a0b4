/* The C interface of VELOC 1.8, served by Cairn: programs that were written for VELOC add the directory of this file to
 * their include path and link libcairn_veloc. lib/doc/veloc.md has what differs.
 *
 * A checkpoint has a name and a version, which the program chooses. Each name is a Cairn job of its own. Calls return
 * VELOC_SUCCESS or VELOC_FAILURE; an error is one line on stderr.
 *
 * Collective: all ranks of the communicator of VELOC_Init make these calls in the same order, with the same name and
 * version. If ranks make different calls, all of them return VELOC_FAILURE. The other calls are local.
 */
#ifndef CAIRN_VELOC_H
#define CAIRN_VELOC_H

#include <stddef.h>
#include <string.h>

#include <mpi.h>

#include "veloc/defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins the use of Cairn. `cfg_file` is VELOC's configuration file; a variable VELOC_<KEY> of the environment
 * overrides a key. Collective over `comm`. */
int VELOC_Init(MPI_Comm comm, const char* cfg_file);
/* The same for one process, whose checkpoints are its own. `id` distinguishes it from other processes. MPI is
 * initialized if it is not yet. Local, and so are all later calls. */
int VELOC_Init_single(unsigned int id, const char* cfg_file);
/* Ends the use of Cairn. Checkpoints are kept. With `drain`, returns an error of background work. Collective. */
int VELOC_Finalize(int drain);

/* Protects `count` elements of `base_size` bytes at `ptr`. A region with this id is replaced. The caller owns the
 * memory, which must be valid until the region is unprotected or replaced. */
int VELOC_Mem_protect(int id, void* ptr, size_t count, size_t base_size);
/* Ends the protection of a region. Returns VELOC_FAILURE if there is none with this id. */
int VELOC_Mem_unprotect(int id);
/* Ends the protection of all regions. */
int VELOC_Mem_clear(void);
/* The same for regions of the checkpoint `name` only. If a name has regions of its own, its checkpoints contain these,
 * and not those of VELOC_Mem_protect. */
int VELOC_Region_protect(int id, void* ptr, size_t count, size_t base_size, const char* name);
int VELOC_Region_unprotect(int id, const char* name);
int VELOC_Region_clear(const char* name);

/* Gives the path of this rank's file in the checkpoint or restart that has begun, in a buffer of VELOC_MAX_NAME bytes.
 * During a checkpoint the program writes this file, during a restart it reads it. `original` is ignored. */
int VELOC_Route_file(const char* original, char* routed);

/* Begins a checkpoint. Names have letters, digits, '_' and '.'; versions are not negative. */
int VELOC_Checkpoint_begin(const char* name, int version);
/* Chooses the regions of this checkpoint. Memory is copied in VELOC_Checkpoint_end. Fails if no region is left. */
int VELOC_Checkpoint_selective(int mode, int* ids, int id_count);
/* The same for all regions. */
int VELOC_Checkpoint_mem(void);
/* Takes the checkpoint. If `success` is 0 on any rank, none is taken, and all ranks return VELOC_FAILURE. Collective.
 */
int VELOC_Checkpoint_end(int success);
/* Waits until the last checkpoint of each name has reached all its levels. Returns an error of it once. Collective. */
int VELOC_Checkpoint_wait(void);
/* Returns 1 if the last checkpoint of each name has reached all its levels, else 0, also if one has failed. Before
 * VELOC_Init: VELOC_FAILURE. */
int VELOC_Checkpoint_finished(void);
/* An older name of VELOC_Checkpoint_finished. */
int VELOC_Backend_ready(void);
/* Waits for the last checkpoint, and takes one of all regions. An error of the last one is returned, too. Collective.
 */
int VELOC_Checkpoint(const char* name, int version);

/* Returns the highest version that is not above `version`, or the highest of all if that is 0. If there is none,
 * returns VELOC_IGNORED. Collective. */
int VELOC_Restart_test(const char* name, int version);
/* Begins to restore this version. Collective. */
int VELOC_Restart_begin(const char* name, int version);
/* Restores regions into the memory that is protected with their ids, which may be larger. Collective; ranks may give
 * different ids. */
int VELOC_Recover_selective(int mode, int* ids, int id_count);
/* The same for all regions. Collective. */
int VELOC_Recover_mem(void);
/* Returns the size in bytes that a region of this rank has in that version. 0: it has none with this id. */
int VELOC_Recover_size(int id);
/* Ends the restart. If `success` is 0 on any rank, all ranks return VELOC_FAILURE, and VELOC_Restart_test gives an
 * older version next time. Collective. */
int VELOC_Restart_end(int success);
/* Restores all regions of this version. Collective. */
int VELOC_Restart(const char* name, int version);

/* Removes the checkpoints of this name from the scratch directories of all nodes. They stay in the persistent
 * directory. Collective. */
int VELOC_Cleanup(const char* name);

#ifdef __cplusplus
}
#endif

#endif
