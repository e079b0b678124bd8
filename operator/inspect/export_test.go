package inspect

import "waggle/control"

// Edited is the file that a call writes to.
func Edited(c *control.Call) string { return edited(c) }
