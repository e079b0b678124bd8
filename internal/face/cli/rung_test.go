package cli_test

import "time"

// busy is how long a program that does nothing takes at most on a machine that has time
// for others.
const busy = 100 * time.Millisecond
