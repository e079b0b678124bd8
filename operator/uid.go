package operator

import (
	"strings"

	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// UIDOf derives a team's uid from its registry, everywhere in the same way. For a team of waggle it
// is the session id in the registry, for another program's team its session, and for a registry
// without a session the time of its creation.
func UIDOf(cfg *team.Config) record.TeamUID {
	if cfg.LeadSessionID == "" {
		return record.TeamUID("created " + protocol.FormatTime(cfg.CreatedAt))
	}
	return record.TeamUID(strings.ReplaceAll(cfg.LeadSessionID, "-", ""))
}
