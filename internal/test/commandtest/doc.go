// Package commandtest checks properties of single commands over generated input, in one
// process: what decode prints, encode gives back. It is apart from internal/face/cli, whose test
// binary is started thousands of times and carries no generators.
package commandtest
