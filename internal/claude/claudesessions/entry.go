package claudesessions

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/spawn"
)

// Entry is one session as its file has it. A field that the file lacks, or has with
// another type, is empty.
type Entry struct {
	PID                 int
	ProcStart           string // start of the process as the client wrote it; on Linux field 22 of /proc/PID/stat
	SessionID           string
	Cwd                 string
	Version             string
	Kind                string    // interactive and others
	Status              string    // idle, busy, …
	StatusAt            time.Time // when Status was written: statusUpdatedAt, in 2.1.150 updatedAt; zero without one
	Name                string
	MessagingSocketPath string
	StartedAt           time.Time // the file's startedAt; zero without one

	KeyPath string // of the newest <pid>.<hash>.key beside it, which holds peerToken; "" without one
}

// maxFile is the largest session file that is read; real ones are below 1 KiB.
const maxFile = 64 << 10

// File is the path of a process's entry.
func File(dir string, pid int) string { return filepath.Join(dir, strconv.Itoa(pid)+".json") }

// The client writes an entry in place: a reader may find an empty file, or half of one. A file that
// is no JSON object and was modified less than beingWritten ago is read again, looks times, after pauses
// that grow by lookAgain: a second in all, as a client on a busy machine may be stopped between two writes.
const (
	beingWritten = time.Second
	lookAgain    = time.Millisecond
	looks        = 44
)

// Read reads the entry of one process, which may have ended (Alive).
func Read(dir string, pid int) (e Entry, err error) {
	path := File(dir, pid)
	for i := range looks + 1 {
		e, err = parseEntry(path, pid)
		var bad *entryError
		if i == looks || !errors.As(err, &bad) || time.Now().UnixNano()-modified(path) > int64(beingWritten) {
			break
		}
		time.Sleep(time.Duration(i+1) * lookAgain)
	}
	return e, err
}

// entryError says that a file is no JSON object.
type entryError struct{ error }

func (e *entryError) Unwrap() error { return e.error }

func parseEntry(path string, pid int) (Entry, error) {
	b, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: maxFile})
	if err != nil {
		return Entry{}, err
	}
	o, err := jsonobj.Parse(b)
	if err != nil {
		return Entry{}, &entryError{fmt.Errorf("read %s: %w", path, err)}
	}
	e := Entry{PID: pid, ProcStart: number(o, "procStart"), SessionID: o.Text("sessionId"), Cwd: o.Text("cwd"),
		Version: o.Text("version"), Kind: o.Text("kind"), Status: o.Text("status"), Name: o.Text("name"),
		MessagingSocketPath: o.Text("messagingSocketPath"), StartedAt: moment(o, "startedAt")}
	if e.StatusAt = moment(o, "statusUpdatedAt"); e.StatusAt.IsZero() {
		e.StatusAt = moment(o, "updatedAt")
	}
	if n := number(o, "pid"); n != strconv.Itoa(pid) {
		return Entry{}, fmt.Errorf("read %s: its pid is %q, not that of its name", path, n)
	}
	if e.SessionID == "" {
		return Entry{}, fmt.Errorf("read %s: it has no sessionId", path)
	}
	return e, nil
}

// number is a value that is written as a number or as a string.
func number(o *jsonobj.Object, key string) string {
	raw, _ := o.Get(key)
	if jsonobj.TypeOf(raw) == "number" {
		return string(raw)
	}
	s, _ := jsonobj.String(raw)
	return s
}

// moment is a time that is written as milliseconds since 1970 or as RFC 3339.
func moment(o *jsonobj.Object, key string) time.Time {
	raw, ok := o.Get(key)
	if !ok {
		return time.Time{}
	}
	if s, ok := jsonobj.String(raw); ok {
		t, _ := time.Parse(time.RFC3339Nano, s) // an invalid time is zero
		return t
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Verified reports whether exactly the process that wrote the entry runs, by its start time. An entry without one, or with
// one that is none of this system, is of no process: another may have its pid now. Where the client's spelling of it is
// not known (not on Linux), any start of a living pid counts. The error says why it could not be found out.
func (e Entry) Verified() (bool, error) {
	if !hasStart(e.ProcStart) {
		return false, nil
	}
	return e.Alive()
}

// Alive reports whether the process of the entry may run: its pid lives, and ProcStart does not contradict. It is for
// showing (Verified). The error says why it could not be found out.
func (e Entry) Alive() (bool, error) {
	id, err := spawn.Identify(e.PID)
	if errors.Is(err, spawn.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if isStart(e.ProcStart) && e.ProcStart != id.Start {
		return false, nil
	}
	return id.Check()
}

// Started is when the process of the session began, from ProcStart where the system
// can tell, else StartedAt; zero when neither says it. It is exact to a second or two.
func (e Entry) Started() time.Time {
	if t, ok := started(e.ProcStart); ok {
		return t
	}
	return e.StartedAt
}

// keyOf returns the newest key file of a session.
func keyOf(dir string, names []string) string {
	var newest string
	var at int64
	for _, name := range names {
		path := filepath.Join(dir, name)
		if m := modified(path); m > at {
			newest, at = path, m
		}
	}
	return newest
}
