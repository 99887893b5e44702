/* Copyright (c) 2026, the llmops.sglang contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A DOUBLE of NVIDIA's management library, for tests on machines without a GPU. It answers the
 * calls below from a state file (LAB_GPU_STATE, else /run/lab/gpus), which it reads anew at every
 * call. The format is described in README.md beside this file. All other calls of NVML are
 * absent, as they are in old drivers: nvidia-ml-py then reports "Function Not Found".
 *
 * Build: gcc -std=c99 -O2 -Wall -Wextra -shared -fPIC -o libnvidia-ml.so.1 nvml.c
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char lab_nvml_double[] = "llmops.sglang lab: a double of libnvidia-ml.so.1, no GPU behind it";

enum { LINE = 512, MIB = 1 << 20, MIG_STEP = 4096, MIG_PLACES = 7 };
typedef int Return;
typedef struct device *Device; /* index + 1; a part of it by MIG: MIG_STEP * (part + 1) more */

static const struct { int code; const char *name, *text; } RETURNS[] = {
    {0, "SUCCESS", "Success"},
    {1, "UNINITIALIZED", "Uninitialized"},
    {2, "INVALID_ARGUMENT", "Invalid Argument"},
    {3, "NOT_SUPPORTED", "Not Supported"},
    {4, "NO_PERMISSION", "Insufficient Permissions"},
    {6, "NOT_FOUND", "Not Found"},
    {7, "INSUFFICIENT_SIZE", "Insufficient Size"},
    {9, "DRIVER_NOT_LOADED", "Driver Not Loaded"},
    {10, "TIMEOUT", "Timeout"},
    {13, "FUNCTION_NOT_FOUND", "Function Not Found"},
    {15, "GPU_IS_LOST", "GPU is lost"},
    {16, "RESET_REQUIRED", "GPU requires reset"},
    {18, "LIB_RM_VERSION_MISMATCH", "RM has detected an NVML/RM version mismatch."},
    {25, "ARGUMENT_VERSION_MISMATCH", "Argument version mismatch"},
    {999, "UNKNOWN", "Unknown Error"},
};
enum {
    ABSENT = -1, /* ours: the file says nothing about it */
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, LIB_RM_VERSION_MISMATCH = 18,
    ARGUMENT_VERSION_MISMATCH = 25, UNKNOWN = 999
};

static int users; /* nvmlInit calls without their nvmlShutdown */

/* --- the state file ------------------------------------------------------------------------ */

static Return error_named(const char *name)
{
    for (size_t i = 0; i < sizeof RETURNS / sizeof *RETURNS; i++)
        if (strcmp(RETURNS[i].name, name) == 0)
            return RETURNS[i].code;
    return UNKNOWN;
}

/* The value of the last line whose key is `key` or `general`. */
static Return lookup(const char *key, const char *general, char out[LINE])
{
    const char *path = getenv("LAB_GPU_STATE");
    FILE *file = fopen(path ? path : "/run/lab/gpus", "r");
    char line[LINE];
    int found = 0;

    if (!file)
        return DRIVER_NOT_LOADED;
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, '=');
        if (line[0] == '#' || !value)
            continue;
        *value++ = '\0';
        if (strcmp(line, key) != 0 && strcmp(line, general) != 0)
            continue;
        value[strcspn(value, "\r\n")] = '\0';
        strcpy(out, value);
        found = 1;
    }
    fclose(file);
    if (!found)
        return ABSENT;
    return strncmp(out, "error:", 6) == 0 ? error_named(out + 6) : SUCCESS;
}

/* A key that only carries errors may be absent, or say something else: no error. */
static int is_error(Return status)
{
    return status != ABSENT && status != SUCCESS;
}

static Return said(Return status)
{
    return status == ABSENT ? NOT_SUPPORTED : status;
}

static Return host_value(const char *name, char out[LINE])
{
    return users ? said(lookup(name, name, out)) : UNINITIALIZED;
}

static unsigned index_of(Device device)
{
    return (unsigned)((size_t)device - 1) % MIG_STEP;
}

/* Which part of a GPU, counted from 1; 0 is the GPU itself. */
static unsigned part_of(Device device)
{
    return (unsigned)((size_t)device / MIG_STEP);
}

/* One field of one GPU, or of one part of it (gpu.N.mig.M.name). A failed GPU (gpu.N=error:...) fails every field. */
static Return find(Device device, const char *name, char out[LINE])
{
    char key[LINE], general[LINE];
    Return status;

    if (!users)
        return UNINITIALIZED;
    if (!device)
        return INVALID_ARGUMENT;
    snprintf(key, sizeof key, "gpu.%u", index_of(device));
    status = lookup(key, "gpu.*", out);
    if (is_error(status))
        return status;
    if (part_of(device)) {
        snprintf(key, sizeof key, "gpu.%u.mig.%u.%s", index_of(device), part_of(device) - 1, name);
        return lookup(key, key, out);
    }
    snprintf(key, sizeof key, "gpu.%u.%s", index_of(device), name);
    snprintf(general, sizeof general, "gpu.*.%s", name);
    return lookup(key, general, out);
}

static Return value_of(Device device, const char *name, char out[LINE])
{
    return said(find(device, name, out));
}

static Return number_of(Device device, const char *name, unsigned long long *out)
{
    char text[LINE];
    Return status = value_of(device, name, text);

    if (status == SUCCESS)
        *out = strtoull(text, NULL, 10);
    return status;
}

static Return unsigned_of(Device device, const char *name, unsigned *out)
{
    unsigned long long number;
    Return status = number_of(device, name, &number);

    if (status == SUCCESS)
        *out = (unsigned)number;
    return status;
}

static Return copy_out(Return status, const char *text, char *out, unsigned size)
{
    if (status != SUCCESS)
        return status;
    if (strlen(text) >= size)
        return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return SUCCESS;
}

/* --- library and system -------------------------------------------------------------------- */

Return nvmlInitWithFlags(unsigned flags)
{
    char text[LINE], library[LINE];
    Return status;

    (void)flags;
    if (lookup("delay_s", "delay_s", text) == SUCCESS)
        sleep((unsigned)atoi(text));
    status = lookup("init", "init", text);
    if (is_error(status))
        return status;
    status = lookup("driver", "driver", text);
    if (status != SUCCESS)
        return DRIVER_NOT_LOADED;
    if (lookup("library", "library", library) == SUCCESS && strcmp(text, library) != 0)
        return LIB_RM_VERSION_MISMATCH;
    users++;
    return SUCCESS;
}

Return nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

Return nvmlShutdown(void)
{
    if (!users)
        return UNINITIALIZED;
    users--;
    return SUCCESS;
}

const char *nvmlErrorString(Return code)
{
    for (size_t i = 0; i < sizeof RETURNS / sizeof *RETURNS; i++)
        if (RETURNS[i].code == code)
            return RETURNS[i].text;
    return "Unknown Error";
}

Return nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    char text[LINE];
    return copy_out(host_value("driver", text), text, out, size);
}

Return nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    char text[LINE], version[LINE + 4];
    Return status = host_value("library", text);
    snprintf(version, sizeof version, "13.%s", text);
    return copy_out(status, version, out, size);
}

Return nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    char text[LINE], *minor;
    Return status = host_value("cuda", text);

    if (status == SUCCESS) {
        *out = (int)strtol(text, &minor, 10) * 1000;
        if (*minor == '.')
            *out += atoi(minor + 1) * 10;
    }
    return status;
}

Return nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }

/* --- devices ------------------------------------------------------------------------------- */

Return nvmlDeviceGetCount_v2(unsigned *out)
{
    char text[LINE];
    Return status = host_value("count", text);

    if (status == SUCCESS)
        *out = (unsigned)atoi(text);
    return status;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *out)
{
    char text[LINE];
    unsigned count;
    Return status = nvmlDeviceGetCount_v2(&count);

    if (status != SUCCESS)
        return status;
    if (index >= count)
        return INVALID_ARGUMENT;
    status = find((Device)(size_t)(index + 1), "handle", text);
    if (is_error(status))
        return status;
    *out = (Device)(size_t)(index + 1);
    return SUCCESS;
}

Return nvmlDeviceGetName(Device device, char *out, unsigned size)
{
    char text[LINE];
    return copy_out(value_of(device, "name", text), text, out, size);
}

Return nvmlDeviceGetUUID(Device device, char *out, unsigned size)
{
    char text[LINE];
    return copy_out(value_of(device, "uuid", text), text, out, size);
}

Return nvmlDeviceGetVbiosVersion(Device device, char *out, unsigned size)
{
    char text[LINE];
    return copy_out(value_of(device, "vbios", text), text, out, size);
}

Return nvmlDeviceGetMinorNumber(Device device, unsigned *out)
{
    char text[LINE];
    Return status = find(device, "minor", text);

    if (is_error(status))
        return status;
    *out = status == ABSENT ? index_of(device) : (unsigned)atoi(text);
    return SUCCESS;
}

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} PciInfo;

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo *out)
{
    char text[LINE];
    Return status = value_of(device, "bus_id", text);

    if (status != SUCCESS)
        return status;
    memset(out, 0, sizeof *out);
    if (sscanf(text, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3)
        return UNKNOWN;
    snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain & 0xffffffffu,
             out->bus & 0xffu, out->device & 0xffu);
    snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%04X:%02X:%02X.0",
             out->domain & 0xffffu, out->bus & 0xffu, out->device & 0xffu);
    if (value_of(device, "pci_device_id", text) == SUCCESS)
        out->pci_device_id = (unsigned)strtoul(text, NULL, 16);
    return SUCCESS;
}

Return nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor)
{
    char text[LINE], *rest;
    Return status = value_of(device, "compute_capability", text);

    if (status == SUCCESS) {
        *major = (int)strtol(text, &rest, 10);
        *minor = *rest == '.' ? atoi(rest + 1) : 0;
    }
    return status;
}

/* Total, reserved and used bytes; `memory` only ever carries an error. */
static Return memory_of(Device device, unsigned long long bytes[3])
{
    static const char *const names[] = {"memory_total_mib", "memory_reserved_mib",
                                        "memory_used_mib"};
    char text[LINE];
    Return status = find(device, "memory", text);

    if (is_error(status))
        return status;
    for (int i = 0; i < 3; i++) {
        status = number_of(device, names[i], &bytes[i]);
        if (status != SUCCESS)
            return status;
        bytes[i] *= MIB;
    }
    return SUCCESS;
}

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;

/* The first version counts what the driver reserves as used. */
Return nvmlDeviceGetMemoryInfo(Device device, Memory *out)
{
    unsigned long long bytes[3];
    Return status = memory_of(device, bytes);

    if (status == SUCCESS) {
        out->total = bytes[0];
        out->used = bytes[1] + bytes[2];
        out->free = bytes[0] - out->used;
    }
    return status;
}

Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2 *out)
{
    unsigned long long bytes[3];
    Return status;

    if (out->version != (sizeof *out | 2u << 24))
        return ARGUMENT_VERSION_MISMATCH;
    status = memory_of(device, bytes);
    if (status == SUCCESS) {
        out->total = bytes[0];
        out->reserved = bytes[1];
        out->used = bytes[2];
        out->free = bytes[0] - bytes[1] - bytes[2];
    }
    return status;
}

Return nvmlDeviceGetTemperature(Device device, int sensor, unsigned *out)
{
    return sensor == 0 ? unsigned_of(device, "temperature", out) : INVALID_ARGUMENT;
}

typedef struct { unsigned version; int sensor, temperature; } Temperature;

Return nvmlDeviceGetTemperatureV(Device device, Temperature *out)
{
    if (out->version != (sizeof *out | 1u << 24))
        return ARGUMENT_VERSION_MISMATCH;
    return nvmlDeviceGetTemperature(device, out->sensor, (unsigned *)&out->temperature);
}

/* Milliwatts; the file says watts. */
Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned *out)
{
    Return status = unsigned_of(device, "power_limit_w", out);

    if (status == SUCCESS)
        *out *= 1000;
    return status;
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *out)
{
    return nvmlDeviceGetPowerManagementLimit(device, out);
}

Return nvmlDeviceGetPersistenceMode(Device device, unsigned *out)
{
    return unsigned_of(device, "persistence", out);
}

Return nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending)
{
    Return status = unsigned_of(device, "mig", current);

    if (status == SUCCESS)
        *pending = *current;
    return status;
}

Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *out)
{
    unsigned mode;
    Return status = unsigned_of(device, "mig", &mode);

    if (status == SUCCESS)
        *out = MIG_PLACES;
    return status;
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned place, Device *out)
{
    char text[LINE];
    Device part = (Device)((size_t)device + MIG_STEP * ((size_t)place + 1));
    Return status = find(part, "uuid", text);

    if (is_error(status))
        return status;
    *out = part;
    return status == ABSENT ? NOT_FOUND : SUCCESS;
}

Return nvmlDeviceGetGpuInstanceId(Device device, unsigned *out)
{
    return part_of(device) ? unsigned_of(device, "gpu_instance", out) : INVALID_ARGUMENT;
}

Return nvmlDeviceGetComputeInstanceId(Device device, unsigned *out)
{
    return part_of(device) ? unsigned_of(device, "compute_instance", out) : INVALID_ARGUMENT;
}

Return nvmlDeviceGetEccMode(Device device, unsigned *current, unsigned *pending)
{
    Return status = unsigned_of(device, "ecc", current);

    if (status == SUCCESS)
        *pending = *current;
    return status;
}

typedef struct { unsigned gpu, memory; } Utilization;

Return nvmlDeviceGetUtilizationRates(Device device, Utilization *out)
{
    Return status = unsigned_of(device, "utilization", &out->gpu);

    out->memory = 0;
    return status;
}

typedef struct {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
} Process;

/* `processes` is PID:MIB or PID:N/A, several separated by commas. */
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *out)
{
    char text[LINE], *next = text;
    unsigned room = *count, found = 0;
    Return status = find(device, "processes", text);

    if (status == ABSENT)
        text[0] = '\0';
    else if (status != SUCCESS)
        return status;
    while (*next) {
        unsigned pid = (unsigned)strtoul(next, &next, 10);
        const char *size = *next == ':' ? next + 1 : next;
        unsigned long long mib = strtoull(size, NULL, 10);

        if (found < room && out)
            out[found] = (Process){pid, size[0] == 'N' ? ~0ull : mib * MIB, ~0u, ~0u};
        found++;
        next += strcspn(next, ",");
        next += *next == ',';
    }
    *count = found;
    return found > (out ? room : 0) ? INSUFFICIENT_SIZE : SUCCESS;
}

/* --- where the devices are ----------------------------------------------------------------- */

Return nvmlDeviceGetTopologyCommonAncestor(Device one, Device other, unsigned *out)
{
    static const struct { const char *name; unsigned level; } levels[] = {
        {"PIX", 10}, {"PXB", 20}, {"PHB", 30}, {"NODE", 40}, {"SYS", 50},
    };
    char key[LINE], text[LINE];
    unsigned a = index_of(one), b = index_of(other);
    Return status;

    if (!users)
        return UNINITIALIZED;
    snprintf(key, sizeof key, "link.%u.%u", a < b ? a : b, a < b ? b : a);
    status = said(lookup(key, "link.*", text));
    if (status != SUCCESS)
        return status;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].name, text) == 0) {
            *out = levels[i].level;
            return SUCCESS;
        }
    return UNKNOWN;
}

Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned *out)
{
    unsigned links;
    Return status = unsigned_of(device, "nvlinks", &links);

    if (status == SUCCESS && link >= links)
        return INVALID_ARGUMENT;
    if (status == SUCCESS)
        *out = 1;
    return status;
}

/* The NUMA node that a GPU's own memory forms; only machines with unified memory have one. */
Return nvmlDeviceGetNumaNodeId(Device device, unsigned *out)
{
    return unsigned_of(device, "memory_numa_node", out);
}

/* The NUMA node that a GPU is attached to, as a set of bits. */
Return nvmlDeviceGetMemoryAffinity(Device device, unsigned words, unsigned long *set, int scope)
{
    unsigned node;
    Return status = unsigned_of(device, "numa_node", &node);
    const unsigned bits = 8 * sizeof *set;

    (void)scope;
    if (status != SUCCESS)
        return status;
    if (node >= words * bits)
        return INSUFFICIENT_SIZE;
    memset(set, 0, words * sizeof *set);
    set[node / bits] = 1ul << node % bits;
    return SUCCESS;
}

typedef struct {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    Return status;
    union { double d; unsigned u; unsigned long long ull; } value;
} FieldValue;

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue *values)
{
    static const struct { unsigned field; const char *name; } fields[] = {
        {31, "retired_pending"}, {144, "remapped_pending"}, {145, "remapped_failure"},
        {230, "recovery_action"},
    };
    char text[LINE];
    Return status = find(device, "handle", text);

    if (is_error(status))
        return status;
    for (int i = 0; i < count; i++) {
        values[i].status = NOT_SUPPORTED;
        values[i].type = 1; /* unsigned int */
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
            if (fields[f].field == values[i].field)
                values[i].status = unsigned_of(device, fields[f].name, &values[i].value.u);
    }
    return SUCCESS;
}
