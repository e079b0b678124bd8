package inspect

import "waggle/control"

// Edited is the file that a call writes to.
func Edited(c *control.Call) string { return edited(c) }

// LastLooked is when the operator last looked at a team, and what they did then.
var LastLooked = lastLooked
