package confine

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"waggle/internal/pattern"
	"waggle/internal/sandbox"
	"waggle/record"
	"waggle/spawn"
)

// Words of shells and runtimes by which a program ends that met a limit.
var (
	cpuWords    = []string{"CPU time limit exceeded", "SIGXCPU", "Exit code 152"}
	memoryWords = []string{"Cannot allocate memory", "cannot allocate memory", "MemoryError", "bad_alloc", "memory exhausted", "ENOMEM",
		"runtime: out of memory", "process out of memory", "Out of memory!", "memory allocation of", "insufficient memory for the Java Runtime"}
	processWords = pattern.New(`[Cc]annot fork|fork: retry|fork.{0,200}[Rr]esource temporarily unavailable|can't start new thread` +
		`|failed to create new OS thread|pthread_create failed|unable to create native thread|failed to spawn thread|spawn.{0,200} EAGAIN`)
)

// codeXCPU is the exit code of a shell whose last command a limit of processor time has ended, codeKill of one whose last
// command was killed.
const (
	codeXCPU = 128 + 24
	codeKill = 128 + 9
)

// bounds are the limits of one command, and what the kernel counts of them.
type bounds struct {
	limits  record.SandboxLimits
	grouped sandbox.Groups // which limits the kernel counts
	used    sandbox.Used
	seen    sandbox.Usage // by the last note
}

// met names the limits that the command met since the last note.
func (b *bounds) met(exit spawn.Exit, output string) []string {
	now := b.used.Look()
	since := sandbox.Usage{Killed: now.Killed - min(now.Killed, b.seen.Killed), Refused: now.Refused - min(now.Refused, b.seen.Refused), CPU: now.CPU}
	b.seen = now
	return limitsMet(b.limits, b.grouped, since, exit, output)
}

// limitsMet names limits that a command has met, with the keys that change them. A count of the kernel is
// certain. Without one, the command must have failed with the words of a program that a limit refuses
// something: what ends by a signal of its own has met none.
func limitsMet(l record.SandboxLimits, grouped sandbox.Groups, now sandbox.Usage, exit spawn.Exit, output string) (lines []string) {
	failed := exit.Code != 0 || exit.Signal != ""
	say := func(key, what string) {
		lines = append(lines, "waggle: "+what+": `sandbox: {limits: {"+key+": …}}` in the team file changes it")
	}
	over := time.Duration(l.CPU) * time.Millisecond
	// The clock of limits counts by ticks, which beside other programs are more than what now has.
	switch {
	case l.CPU == 0:
	case (now.CPU == 0 || now.CPU > over/2) && (exit.Signal == syscall.Signal(codeXCPU-128).String() || exit.Code == codeXCPU || contains(output, cpuWords)):
		say("cpu", fmt.Sprintf("a process was ended because it had used the processor time that it may, %s", over))
	case now.Killed == 0 && killedAt(over+time.Second, now.CPU) &&
		(exit.Signal == syscall.SIGKILL.String() || exit.Code == codeKill || failed && strings.Contains(output, "signal: killed")):
		say("cpu", fmt.Sprintf("a process was ended, as it seems because it had used more than the processor time that it may, %s", over))
	}
	switch {
	case l.Memory == 0:
	case now.Killed > 0:
		say("memory", fmt.Sprintf("a process was ended because all of the command's together had the memory that they may, %s", sizeText(l.Memory)))
	case grouped.Memory == "" && failed && contains(output, memoryWords):
		say("memory", fmt.Sprintf("a process was refused memory, as it seems because each may have %s of data", sizeText(l.Memory)))
	}
	switch {
	case l.Processes == 0:
	case now.Refused > 0: // also where the command went on without it: its work may not be whole
		say("processes", fmt.Sprintf("a process was not started because the command had as many as it may, %d with threads", l.Processes))
	case grouped.Processes == "" && failed && processWords().MatchString(output):
		say("processes", fmt.Sprintf("a process was not started, as it seems because there may be %d with threads", l.Processes))
	}
	return lines
}

// killedAt reports that a command used about the processor time at which the kernel kills what does not end at its limit:
// programs in Go do not end at it.
func killedAt(hard, used time.Duration) bool { return used > hard-hard/5 && used < hard+hard/5 }

func contains(output string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(output, w) })
}

// sizeText writes a size as a team file does.
func sizeText(n uint64) string {
	for _, u := range []struct {
		unit  string
		bytes uint64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}} {
		if n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.unit)
		}
	}
	return fmt.Sprintf("%dB", n)
}
