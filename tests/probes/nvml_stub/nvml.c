/* A stand-in for NVIDIA's NVML library: it plays the scene that FLASHDOCTOR_NVML_SCENE names.
 *
 * A scene is a text file, one statement a line, `#` for remarks. Before the first `gpu`:
 *     driver TEXT        cuda NUMBER (13000)      process PID NAME
 *     fail FUNCTION CODE [GPU]   hang FUNCTION   crash FUNCTION   say TEXT (on stdout, in init)
 * and for each GPU `gpu NAME`, then of it:
 *     capability MAJOR MINOR     memory TOTAL RESERVED USED (MiB)     mig 0|1
 *     instance GPU_INSTANCE COMPUTE_INSTANCE TOTAL USED     ecc 0|1
 *     pcie GENERATION MAX WIDTH MAX     reasons BITS     fabric STATE STATUS
 *     model 0|1|2     holds PID MIB     draws PID MIB
 * What a GPU's section leaves out is "Not Supported". UUIDs are made up from the number of the
 * GPU (GPU-00000001-...) and of the MIG device (MIG-00000001-0002-...).
 *
 * Function names and structures follow the published NVML API reference.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    ARGUMENT_VERSION_MISMATCH = 25,
};
enum { GPUS = 16, PARTS = 8, RULES = 32, PROCESSES = 16, TEXT = 128 };
#define MIB (1024ULL * 1024ULL)
#define NOT_AVAILABLE (~0ULL) /* NVML_VALUE_NOT_AVAILABLE; -1 in a scene */

typedef unsigned long long wide;

struct use { unsigned pid; wide mib; };
struct part { int is_part; int gpu, number, gi, ci; wide total, used; };
struct device {
    int is_part; /* shared with struct part: which of the two a handle points at */
    char name[TEXT];
    int major, minor, mig, ecc, pcie[4], model, fabric_state, fabric_status;
    wide total, reserved, used, reasons;
    int has_memory, has_reasons;
    struct part parts[PARTS];
    int part_count;
    struct use computes[PROCESSES], graphics[PROCESSES];
    int compute_count, graphic_count;
};
struct rule { char what[32], function[TEXT]; int code, gpu; };
struct name { unsigned pid; char text[TEXT]; };

static struct device devices[GPUS];
static struct rule rules[RULES];
static struct name names[PROCESSES];
static int device_count, rule_count, name_count, cuda;
static char driver[TEXT];

static void blank(struct device *d, const char *name)
{
    memset(d, 0, sizeof *d);
    snprintf(d->name, TEXT, "%s", name);
    d->major = d->mig = d->ecc = d->model = d->fabric_state = -1;
    for (int i = 0; i < 4; i++)
        d->pcie[i] = -1;
}

static void read_gpu(struct device *d, const char *key, const char *rest)
{
    struct part part = {.is_part = 1};
    struct use use;
    if (!strcmp(key, "capability"))
        sscanf(rest, "%d %d", &d->major, &d->minor);
    else if (!strcmp(key, "memory"))
        d->has_memory = sscanf(rest, "%llu %llu %llu", &d->total, &d->reserved, &d->used) == 3;
    else if (!strcmp(key, "mig"))
        sscanf(rest, "%d", &d->mig);
    else if (!strcmp(key, "ecc"))
        sscanf(rest, "%d", &d->ecc);
    else if (!strcmp(key, "model"))
        sscanf(rest, "%d", &d->model);
    else if (!strcmp(key, "pcie"))
        sscanf(rest, "%d %d %d %d", &d->pcie[0], &d->pcie[1], &d->pcie[2], &d->pcie[3]);
    else if (!strcmp(key, "reasons"))
        d->has_reasons = sscanf(rest, "%llx", &d->reasons) == 1;
    else if (!strcmp(key, "fabric"))
        sscanf(rest, "%d %d", &d->fabric_state, &d->fabric_status);
    else if (!strcmp(key, "instance") && d->part_count < PARTS) {
        sscanf(rest, "%d %d %llu %llu", &part.gi, &part.ci, &part.total, &part.used);
        part.gpu = (int)(d - devices);
        part.number = d->part_count;
        d->parts[d->part_count++] = part;
    } else if (sscanf(rest, "%u %llu", &use.pid, &use.mib) != 2)
        return;
    else if (!strcmp(key, "holds") && d->compute_count < PROCESSES)
        d->computes[d->compute_count++] = use;
    else if (!strcmp(key, "draws") && d->graphic_count < PROCESSES)
        d->graphics[d->graphic_count++] = use;
}

static void read_line(const char *key, const char *rest)
{
    if (!strcmp(key, "gpu") && device_count < GPUS)
        blank(&devices[device_count++], rest);
    else if (!strcmp(key, "driver"))
        snprintf(driver, TEXT, "%s", rest);
    else if (!strcmp(key, "cuda"))
        cuda = atoi(rest);
    else if (!strcmp(key, "say"))
        puts(rest);
    else if (!strcmp(key, "process") && name_count < PROCESSES) {
        struct name *n = &names[name_count++];
        sscanf(rest, "%u %127[^\n]", &n->pid, n->text);
    } else if (!strcmp(key, "fail") || !strcmp(key, "hang") || !strcmp(key, "crash")) {
        if (rule_count == RULES)
            return;
        struct rule *r = &rules[rule_count++];
        snprintf(r->what, sizeof r->what, "%s", key);
        r->gpu = -1;
        sscanf(rest, "%127s %d %d", r->function, &r->code, &r->gpu);
    } else if (device_count)
        read_gpu(&devices[device_count - 1], key, rest);
}

static void load(void)
{
    char line[512], key[32];
    int used;
    const char *path = getenv("FLASHDOCTOR_NVML_SCENE");
    FILE *file = path ? fopen(path, "r") : NULL;
    device_count = rule_count = name_count = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] != '#' && sscanf(line, "%31s %n", key, &used) == 1)
            read_line(key, line + used);
    }
    if (file)
        fclose(file);
}

/* Obey the scene's rules for a function; `gpu` is -1 where it concerns none. */
static int enter(const char *function, int gpu)
{
    for (int i = 0; i < rule_count; i++) {
        struct rule *r = &rules[i];
        if (strcmp(r->function, function) || (r->gpu >= 0 && r->gpu != gpu))
            continue;
        if (!strcmp(r->what, "hang"))
            for (;;)
                pause();
        if (!strcmp(r->what, "crash"))
            raise(SIGSEGV);
        return r->code;
    }
    return OK;
}

static int number(const struct device *d)
{
    return d->is_part ? ((const struct part *)d)->gpu : (int)(d - devices);
}

#define ENTER(d)                                                                                   \
    do {                                                                                           \
        int code = enter(__func__, number(d));                                                     \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)
#define ENTER_SYSTEM()                                                                             \
    do {                                                                                           \
        int code = enter(__func__, -1);                                                            \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)

static int give(int value, unsigned *out)
{
    *out = (unsigned)value;
    return value < 0 ? NOT_SUPPORTED : OK;
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    load();
    ENTER_SYSTEM();
    fflush(stdout);
    return OK;
}

int nvmlShutdown(void) { return OK; }

const char *nvmlErrorString(int code)
{
    static char text[32];
    snprintf(text, sizeof text, "NVML error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    ENTER_SYSTEM();
    snprintf(out, size, "%s", driver);
    return OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    ENTER_SYSTEM();
    *out = cuda;
    return OK;
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
    ENTER_SYSTEM();
    for (int i = 0; i < name_count; i++)
        if (names[i].pid == pid) {
            snprintf(out, size, "%s", names[i].text);
            return OK;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    ENTER_SYSTEM();
    *out = (unsigned)device_count;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **out)
{
    if ((int)index >= device_count)
        return INVALID_ARGUMENT;
    ENTER(&devices[index]);
    *out = &devices[index];
    return OK;
}

int nvmlDeviceGetName(struct device *d, char *out, unsigned size)
{
    ENTER(d);
    snprintf(out, size, "%s", d->name);
    return OK;
}

int nvmlDeviceGetUUID(struct device *d, char *out, unsigned size)
{
    ENTER(d);
    if (d->is_part)
        snprintf(out, size, "MIG-%08x-%04x-0000-0000-000000000000", number(d) + 1,
                 ((struct part *)d)->number + 1);
    else
        snprintf(out, size, "GPU-%08x-0000-0000-0000-000000000000", number(d) + 1);
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(struct device *d, int *major, int *minor)
{
    ENTER(d);
    *major = d->major;
    *minor = d->minor;
    return d->major < 0 ? NOT_SUPPORTED : OK;
}

struct memory { wide total, free, used; };
struct memory_v2 { unsigned version; wide total, reserved, free, used; };

static int memory(struct device *d, wide *total, wide *reserved, wide *used)
{
    struct part *part = (struct part *)d;
    if (!d->is_part && !d->has_memory)
        return NOT_SUPPORTED;
    *total = (d->is_part ? part->total : d->total) * MIB;
    *reserved = d->is_part ? 0 : d->reserved * MIB;
    *used = (d->is_part ? part->used : d->used) * MIB;
    return OK;
}

int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *out)
{
    wide reserved = 0;
    ENTER(d);
    int code = memory(d, &out->total, &reserved, &out->used);
    out->used += reserved; /* as the first version of the call does */
    out->free = out->total - out->used;
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory_v2 *out)
{
    ENTER(d);
    if (out->version != (sizeof *out | 2U << 24))
        return ARGUMENT_VERSION_MISMATCH;
    int code = memory(d, &out->total, &out->reserved, &out->used);
    out->free = out->total - out->used - out->reserved;
    return code;
}

int nvmlDeviceGetMigMode(struct device *d, unsigned *current, unsigned *pending)
{
    ENTER(d);
    give(d->mig, pending);
    return give(d->mig, current);
}

int nvmlDeviceGetMaxMigDeviceCount(struct device *d, unsigned *out)
{
    ENTER(d);
    return give(d->mig < 0 ? 0 : PARTS, out);
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct device *d, unsigned index, struct part **out)
{
    ENTER(d);
    if ((int)index >= d->part_count)
        return NOT_FOUND;
    *out = &d->parts[index];
    return OK;
}

int nvmlDeviceGetGpuInstanceId(struct part *p, unsigned *out)
{
    ENTER((struct device *)p);
    return give(p->gi, out);
}

int nvmlDeviceGetComputeInstanceId(struct part *p, unsigned *out)
{
    ENTER((struct device *)p);
    return give(p->ci, out);
}

int nvmlDeviceGetEccMode(struct device *d, unsigned *current, unsigned *pending)
{
    ENTER(d);
    give(d->ecc, pending);
    return give(d->ecc, current);
}

int nvmlDeviceGetDriverModel_v2(struct device *d, unsigned *current, unsigned *pending)
{
    ENTER(d);
    give(d->model, pending);
    return give(d->model, current);
}

#define PCIE(function, place)                                                                      \
    int function(struct device *d, unsigned *out)                                                  \
    {                                                                                              \
        ENTER(d);                                                                                  \
        return give(d->pcie[place], out);                                                          \
    }
PCIE(nvmlDeviceGetCurrPcieLinkGeneration, 0)
PCIE(nvmlDeviceGetMaxPcieLinkGeneration, 1)
PCIE(nvmlDeviceGetCurrPcieLinkWidth, 2)
PCIE(nvmlDeviceGetMaxPcieLinkWidth, 3)

int nvmlDeviceGetCurrentClocksEventReasons(struct device *d, wide *out)
{
    ENTER(d);
    *out = d->reasons;
    return d->has_reasons ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, wide *out)
{
    ENTER(d);
    *out = d->reasons;
    return d->has_reasons ? OK : NOT_SUPPORTED;
}

struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique, state, health;
};

int nvmlDeviceGetGpuFabricInfoV(struct device *d, struct fabric *out)
{
    ENTER(d);
    if (out->version != (sizeof *out | 2U << 24))
        return ARGUMENT_VERSION_MISMATCH;
    out->status = d->fabric_status;
    return give(d->fabric_state, &out->state);
}

struct process { unsigned pid; wide used; unsigned gi, ci; };

static int processes(const struct use *uses, int count, unsigned *size, struct process *out)
{
    unsigned room = *size;
    *size = (unsigned)count;
    if (!count)
        return OK;
    if (!out || room < (unsigned)count)
        return INSUFFICIENT_SIZE;
    for (int i = 0; i < count; i++)
        out[i] = (struct process){
            uses[i].pid, uses[i].mib == NOT_AVAILABLE ? NOT_AVAILABLE : uses[i].mib * MIB, ~0U, ~0U,
        };
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *size, struct process *out)
{
    ENTER(d);
    return processes(d->computes, d->compute_count, size, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device *d, unsigned *size, struct process *out)
{
    ENTER(d);
    return processes(d->graphics, d->graphic_count, size, out);
}
