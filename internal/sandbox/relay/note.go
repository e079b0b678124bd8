//go:build unix

package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"waggle/internal/json/jsonobj"
)

// noteSize is the largest size of one note.
const noteSize = 4 << 10

// WriteNote sends a note in one write, with a file if there is one.
func WriteNote(c *net.UnixConn, n Note, f *os.File) error {
	data, err := jsonobj.Marshal(n)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	var oob []byte
	if f != nil {
		oob = unix.UnixRights(int(f.Fd()))
	}
	if _, _, err := c.WriteMsgUnix(data, oob, nil); err != nil {
		return fmt.Errorf("sandbox door: %w", err)
	}
	return nil
}

// ReadNote reads one note.
func ReadNote(c *net.UnixConn) (Note, error) {
	line, err := readLine(c)
	if err != nil {
		return Note{}, err
	}
	return decodeNote(line)
}

// ReadNoteFile reads a note and the file that came with it; nil: none did.
func ReadNoteFile(c *net.UnixConn) (Note, *os.File, error) {
	buf, oob := make([]byte, noteSize), make([]byte, unix.CmsgSpace(4*4))
	n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return Note{}, nil, fmt.Errorf("sandbox door: %w", err)
	}
	files, err := filesIn(oob[:oobn])
	if err == nil && len(files) > 1 {
		err = errors.New("sandbox door: more than one file came")
	}
	var note Note
	if err == nil {
		note, err = decodeNote(buf[:n])
	}
	if err != nil || len(files) == 0 {
		for _, f := range files {
			f.Close()
		}
		return note, nil, err
	}
	return note, files[0], nil
}

func filesIn(oob []byte) ([]*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("sandbox door: %w", err)
	}
	var files []*os.File
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // another kind of message
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "from the sandbox"))
		}
	}
	return files, nil
}

// readLine reads up to a line's end, byte by byte: nothing of the next one.
func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < noteSize {
		if _, err := io.ReadFull(r, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' {
			return line, nil
		}
		line = append(line, one[0])
	}
	return nil, errors.New("sandbox door: a note is too long")
}

func decodeNote(line []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(line, &n); err != nil {
		return Note{}, fmt.Errorf("sandbox door: %w", err)
	}
	return n, nil
}
