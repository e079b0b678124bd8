package team

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"waggle/layout"
	"waggle/protocol"
)

// step003 gives a lead to a team of seed 002, which has none: leadAgentId, an entry, and a mailbox.
// Without them members have nobody to ask, and Claude Code finds no leader.
var step003 = step{
	version: "1.2.0",
	what:    "give the team a lead",
	config: func(t *Team, c *Config) []string {
		var done []string
		if c.SeedForm() {
			c.LeadAgentID = protocol.NewAgentID(protocol.Lead, t.name)
			done = append(done, "leadAgentId is "+string(c.LeadAgentID))
		}
		if _, ok := c.Member(protocol.Lead); !ok {
			lead := t.lead(Member{}, c.CreatedAt)
			c.Members = append([]Member{lead}, c.Members...)
			done = append(done, "team-lead is a member")
		}
		return done
	},
	files: func(_ context.Context, t *Team, dry bool) ([]string, error) {
		dirs := layout.Dirs{Team: t.root.TeamDir(t.name), Inboxes: t.InboxesDir()}
		as, err := dirs.Default()
		if err != nil {
			return nil, err
		}
		path := dirs.Path(as, string(protocol.Lead))
		if exists(path) {
			return nil, nil
		}
		if !dry {
			home, err := os.OpenRoot(dirs.Team)
			if err != nil {
				return nil, err
			}
			defer home.Close()
			if err := createInbox(home, boxes[as], protocol.Lead); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
		}
		return []string{"team-lead has a mailbox"}, nil
	},
}
