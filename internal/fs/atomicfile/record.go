package atomicfile

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// A record names the holder of a lock and the step that it reached. It is in the flock file,
// because the lock directory must stay empty (protocol §2.4), and is written only under the flock.
// A process that gets the flock and reads a record that is not free knows that its writer is dead,
// which lock directory that writer made, and which temporary file it was about to exchange.
type record struct {
	boot    string // run of the kernel
	pid     int
	start   uint64 // when that process started
	since   int64  // when it got the flock, Unix nanoseconds
	state   string
	dir     dirStat  // the lock directory it made
	foreign int64    // when a lock of another program was last seen
	tmp     string   // base name of the temporary file in an exchange
	base    Identity // the file that the exchange replaces
	next    Identity // the file that it publishes
	last    Identity // the file as our last edit left it
}

// States of a record.
const (
	stateFree       = "free"       // no lock directory and no temporary file
	stateTaking     = "taking"     // about to make the lock directory
	stateHeld       = "held"       // has made it
	statePublishing = "publishing" // about to exchange tmp with the file
)

const (
	recordMark  = "waggle-lock-" // of every version
	recordMagic = recordMark + "2"
	recordSize  = 768
	// shadowFields had the identity of a second file and a length. An older waggle, which reads and writes them, finds no
	// such file.
	shadowFields = " 0 0 0 0 0"
)

// clean reports whether the writer left no lock directory and no temporary file.
func (r record) clean() bool { return r.state == stateFree }

func (r record) encode() []byte {
	b := fmt.Appendf(nil, "%s %s %d %d %d %s %d %d %d %d %s", recordMagic, cmp.Or(r.boot, "-"), r.pid, int64(r.start), r.since, r.state,
		int64(r.dir.ino), r.dir.btime, r.dir.mtime, r.foreign, cmp.Or(r.tmp, "-"))
	for _, id := range []Identity{r.base, r.next, r.last} {
		b = fmt.Appendf(b, " %d %d %d %d", int64(id.ino), id.size, id.mtime, id.ctime)
	}
	b = append(b, shadowFields+" "...)
	b = fmt.Appendf(b, "%x", crc32.ChecksumIEEE(b))
	// Padded to one size, so that a short record never leaves the tail of a long one.
	return fmt.Appendf(nil, "%-*s\n", recordSize-1, b)
}

// decodeRecord decodes a record; anything else, such as an empty file, decodes as a free lock.
func decodeRecord(b []byte) record {
	free := record{state: stateFree}
	b = bytes.TrimRight(b, " \n")
	cut := bytes.LastIndexByte(b, ' ')
	if cut < 0 || !bytes.HasPrefix(b, []byte(recordMagic+" ")) {
		return free
	}
	sum, err := strconv.ParseUint(string(b[cut+1:]), 16, 32)
	if err != nil || uint32(sum) != crc32.ChecksumIEEE(b[:cut+1]) {
		return free
	}
	f := strings.Fields(string(b[:cut]))
	if len(f) != 28 {
		return free
	}
	var bad bool
	n := func(i int) int64 {
		v, err := strconv.ParseInt(f[i], 10, 64)
		bad = bad || err != nil
		return v
	}
	id := func(i int) Identity {
		return Identity{ino: uint64(n(i)), size: n(i + 1), mtime: n(i + 2), ctime: n(i + 3)}
	}
	r := record{
		boot: f[1], pid: int(n(2)), start: uint64(n(3)), since: n(4), state: f[5],
		dir:     dirStat{ino: uint64(n(6)), btime: n(7), mtime: n(8)},
		foreign: n(9), base: id(11), next: id(15), last: id(19),
	}
	if f[10] != "-" {
		r.tmp = f[10]
	}
	switch r.state {
	case stateFree, stateTaking, stateHeld, statePublishing:
	default:
		bad = true
	}
	if bad {
		return free
	}
	return r
}

// foreignRecord reports whether a queue file has another content than a record: nothing may be written into it. A link to
// a file with content is such a file.
func foreignRecord(f *os.File, fi fs.FileInfo) bool {
	var b [len(recordMark)]byte
	n, err := f.ReadAt(b[:], recordOffset)
	return n > 0 && string(b[:n]) != recordMark || n == 0 && fi.Size() > 0 || err != nil && err != io.EOF
}

// readRecord reads the record in an open flock file.
func readRecord(f *os.File) record {
	var b [recordSize]byte
	n, _ := f.ReadAt(b[:], recordOffset)
	return decodeRecord(b[:n])
}

// holder names the process of a record that says it is not free.
func (r record) holder() string {
	if r.clean() || r.pid == 0 {
		return "another waggle process"
	}
	if start, ok := procStart(r.pid); ok && (start != r.start || r.boot != bootID()) {
		return "another waggle process" // another process has that pid now
	}
	return fmt.Sprintf("pid %d (waggle)", r.pid)
}
