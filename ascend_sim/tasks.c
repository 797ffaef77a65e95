/* What a worker does with one task. After a fault the device is in error: later work is skipped until it is reset. */
#include "sim.h"
#include "ops.h"

#include <unistd.h>

void copy_execute(Stream *stream, Task *task);
void set_execute(Stream *stream, Task *task);
int comm_task_execute(Stream *stream, struct CommTask *task, uint64_t correlation, char *why, size_t size); /* hccl.c */
const char *comm_task_name(const struct CommTask *task);
void comm_task_free(struct CommTask *task);

static bool operands_alive(const Task *task) {
    for (uint32_t i = 0; i < task->use_count; i++) {
        if (!memory_alive(task->uses[i])) return false;
    }
    return true;
}

static const char *task_name(const Task *task) {
    if (task->kind == TASK_KERNEL) return task->kernel.executor->op->name;
    if (task->kind == TASK_COMM) return comm_task_name(task->comm);
    return task->kind == TASK_COPY ? "memcpy" : "memset";
}

static void raise_fault(Stream *stream, const Task *task, int code, const char *why) {
    device_fault(stream->device, code, (uint32_t)stream->id, task->task_id, "%s on stream %d: %s", task_name(task),
                 stream->id, why);
}

static void run_kernel(Stream *stream, Task *task) {
    static const char *const units[] = {"AI_VECTOR_CORE", "AI_CORE", "AI_CPU"};
    Executor *e = task->kernel.executor;
    uint64_t start = host_ns();
    int code = executor_run(stream, task);
    if (code != 0) {
        raise_fault(stream, task, code, e->problem);
        return;
    }
    uint64_t end = host_ns();
    count(&counters.kernels_done, 1);
    mspti_kernel(e->op->kernel, units[e->op->unit], stream->device->id, stream->id, task->correlation,
                 kernel_stamp(start, end), kernel_stamp(end, end));
}

static void run_communication(Stream *stream, Task *task) {
    char why[400] = "";
    count(&counters.kernels_started, 1);
    int code = comm_task_execute(stream, task->comm, task->correlation, why, sizeof why);
    if (code != 0) raise_fault(stream, task, code, why);
    else count(&counters.kernels_done, 1);
}

void task_execute(Stream *stream, Task *task) {
    if (task->kind == TASK_RECORD) {
        record_finish(task->record);
        return;
    }
    if (task->kind == TASK_WAIT) {
        record_wait(task->record, -1);
        return;
    }
    if (task->kind == TASK_HOST) {
        count(&counters.host_calls, 1);
        task->host.fn(task->host.arg);
        return;
    }
    if (atomic_load(&stream->device->error) != 0) {
        count(&counters.tasks_skipped, 1);
        return;
    }
    if (task->fault != NULL) {
        raise_fault(stream, task, RT_AICORE_EXCEPTION, task->fault);
        return;
    }
    if (!operands_alive(task)) {
        violation("%s on stream %d uses memory that was freed after the launch", task_name(task), stream->id);
        raise_fault(stream, task, RT_AICORE_EXCEPTION, "use after free: an operand was freed after the launch");
        return;
    }
    if (task->kind == TASK_KERNEL) run_kernel(stream, task);
    else if (task->kind == TASK_COMM) run_communication(stream, task);
    else if (task->kind == TASK_COPY) copy_execute(stream, task);
    else set_execute(stream, task);
}

void task_discard(Task *task) {
    memory_unuse(task->uses, task->use_count);
    if (task->kind == TASK_KERNEL) executor_free(task->kernel.executor);
    if (task->kind == TASK_COMM) comm_task_free(task->comm);
    if (task->kind == TASK_RECORD && !atomic_load(&task->record->done)) record_finish(task->record); /* dropped */
    if (task->kind == TASK_RECORD || task->kind == TASK_WAIT) record_release(task->record);
    free(task->fault);
    free(task);
}
