package testenv

import "os"

// Race is the variable for the race detector, as this program has it: for the environment of a program
// with the detector, which otherwise sleeps for a second before it exits.
func Race() []string {
	if v, ok := os.LookupEnv("GORACE"); ok {
		return []string{"GORACE=" + v}
	}
	return nil
}
