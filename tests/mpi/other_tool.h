/* How many calls of MPI_Comm_dup the tool in other_tool.c has seen. */
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    int
    other_tool_calls(void);
