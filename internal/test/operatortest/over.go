package operatortest

import (
	"waggle/operator/board"
	"waggle/operator/teams"
	"waggle/protocol"
)

// Order puts a task on the board and orders a member to do it.
func (r *Rig) Order(owner protocol.MemberName, subject string) {
	r.T.Helper()
	if _, err := board.Of(r.Op).AddTask(r.T.Context(), r.Name, board.NewTask{Subject: subject, Owner: owner}); err != nil {
		r.T.Fatal(err)
	}
}

// Delete ends the team: it is past, and its name is free.
func (r *Rig) Delete() {
	r.T.Helper()
	if _, err := teams.Of(r.Op).Delete(r.T.Context(), r.Name, teams.DeleteOptions{}); err != nil {
		r.T.Fatal(err)
	}
}
