package operator

import "waggle/spawn"

// Gone reports that the process certainly does not run.
func Gone(id spawn.Identity) bool {
	alive, err := id.Check()
	return !alive && err == nil
}
