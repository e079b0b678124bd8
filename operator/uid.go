package operator

import (
	"strings"

	"waggle"
	"waggle/record"
	"waggle/team"
)

// UIDOf is the one way to derive a team's uid from its registry: of a team of ours it
// is what the registry holds in the form of a session id, of another program's it is
// its session, and of one without a session when it was made.
func UIDOf(cfg *team.Config) record.TeamUID {
	if cfg.LeadSessionID == "" {
		return record.TeamUID("created " + waggle.FormatTime(cfg.CreatedAt))
	}
	return record.TeamUID(strings.ReplaceAll(cfg.LeadSessionID, "-", ""))
}
