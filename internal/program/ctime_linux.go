package program

import (
	"syscall"
	"time"
)

// ctime is when the file or its rights were changed last; nobody can set it back.
func ctime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }
