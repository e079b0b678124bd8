package terminal

import (
	"encoding/binary"
	"errors"
	"io"
)

// Frames on the socket of a holder: a type, a length of four bytes, big endian, and that many
// bytes.
const (
	frameHello  = 'h' // to the holder, first: version and size
	frameInput  = 'i' // to the holder: typed input
	frameResize = 'r' // to the holder: size
	frameOutput = 'o' // from the holder
	// To the holder instead of a hello: version; from it: whether it ended the input.
	frameEndInput = 'd'
	frameEnd      = 'x' // from the holder, last: the process has ended
)

// protocol is the first byte of a hello.
const protocol = 1

// maxFrame is the largest frame.
const maxFrame = 64 << 10

// Size is how large a terminal is, in characters.
type Size struct{ Cols, Rows uint16 }

func (s Size) encode() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, s.Cols), s.Rows)
}

func decodeSize(b []byte) (Size, error) {
	if len(b) != 4 {
		return Size{}, errors.New("not a size")
	}
	return Size{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])}, nil
}

func writeFrame(w io.Writer, kind byte, body []byte) error {
	for first := true; first || len(body) > 0; first = false {
		n := min(len(body), maxFrame)
		b := append(make([]byte, 0, 5+n), kind)
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		if _, err := w.Write(append(b, body[:n]...)); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, errors.New("the frame is too large")
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}
