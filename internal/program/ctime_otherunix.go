//go:build unix && !linux

package program

import (
	"reflect"
	"syscall"
	"time"
)

// ctime is when the file or its rights were changed last; the field has another name on
// every system.
func ctime(st *syscall.Stat_t) time.Time {
	for _, name := range []string{"Ctimespec", "Ctim"} {
		if f := reflect.ValueOf(st).Elem().FieldByName(name); f.IsValid() {
			if ts, ok := f.Interface().(syscall.Timespec); ok {
				return time.Unix(ts.Unix())
			}
		}
	}
	return time.Time{}
}
