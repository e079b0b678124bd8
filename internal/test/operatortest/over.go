package operatortest

import (
	"waggle/internal/test/testenv"
	"waggle/operator/teams"
)

// Delete ends the team: it is past, and its name is free.
func (r *Rig) Delete() {
	r.T.Helper()
	testenv.Value(teams.Of(r.Op).Delete(r.T.Context(), r.Name, teams.DeleteOptions{}))(r.T)
}
