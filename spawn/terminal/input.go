package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/spawn"
)

// ErrNoLines means that a process cannot be told that its input ends: it reads keys,
// not lines, or has switched the end of input off.
var ErrNoLines = errors.New("the terminal has no end of input: the process reads keys, not lines")

// CloseInput ends the input of a held process once, as a person does with Control-D: a process that
// reads lines gets an end of file; after a half-typed line only the end of that read. Whether the
// process ends because of it is its own decision; a process that does not read does not notice.
//
// The error is ErrNoLines for a process that reads no lines, and matches fs.ErrNotExist, or is a
// refused connection, when there is no holder.
func CloseInput(ctx context.Context, p spawn.Place) error {
	if p.Socket == "" {
		return errors.New("close input: it has no terminal that can be reached")
	}
	if err := closeInput(ctx, p.Socket); err != nil {
		return fmt.Errorf("close input: %w", err)
	}
	return nil
}

// answerWait is how long a holder may take to answer.
const answerWait = 10 * time.Second

func closeInput(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	c, err := dialHolder(ctx, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if err := writeFrame(c, frameEndInput, []byte{protocol}); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	kind, body, err := readFrame(c)
	switch {
	case err != nil:
		return errors.Join(ctx.Err(), fmt.Errorf("the holder of the terminal gave no answer: %w", err))
	case kind != frameEndInput || len(body) != 1:
		return errors.New("the holder of the terminal gave another answer")
	case body[0] == inputEnded:
		return nil
	}
	return ErrNoLines
}

// Answers of a holder.
const (
	inputEnded = 'y'
	inputRaw   = 'n'
)
