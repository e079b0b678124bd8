package app

import (
	"os"
	"runtime"

	"waggle/internal/confine"
	"waggle/worker"
)

// Confine makes the sandboxes of members that this process runs. The relay inside is this program,
// also where its file is gone, as go run leaves it.
func Confine() (worker.Confine, error) {
	self, err := Relay()
	if err != nil {
		return nil, err
	}
	return confine.With(self), nil
}

// Relay is the program that runs inside of sandboxes: this one.
func Relay() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(self); err != nil && runtime.GOOS == "linux" {
		self = "/proc/self/exe"
	}
	return self, nil
}
