package team

import "fmt"

// step004 spells a backend as it is spelled now: in_process was in-process (protocol
// §9.1 row 24).
var step004 = step{
	version: "1.3.0",
	what:    "spell the members' backends as they are now",
	config: func(_ *Team, c *Config) []string {
		var done []string
		for i := range c.Members {
			if m := &c.Members[i]; m.BackendType == "in_process" {
				m.BackendType = "in-process"
				done = append(done, fmt.Sprintf("the backend of %s is in-process", m.Name))
			}
		}
		return done
	},
}
