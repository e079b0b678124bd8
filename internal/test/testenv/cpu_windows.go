package testenv

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user) != nil {
		return 0
	}
	span := func(f windows.Filetime) time.Duration {
		return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
	}
	return span(kernel) + span(user)
}
