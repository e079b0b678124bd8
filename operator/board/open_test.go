package board_test

import (
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/board"
)

// TestOpen: Open does not offer a task that is completed; a list without tasks offers nothing.
func TestOpen(t *testing.T) {
	op, _ := operatortest.API(t)
	b := board.Of(op)
	if got, err := b.OpenTasks(t.Context(), "api"); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %+v, %v", got, err)
	}
	for _, subject := range []string{"first", "second"} {
		testenv.Value(b.AddTask(t.Context(), "api", board.NewTask{Subject: subject}))(t)
	}
	testenv.Value(b.FinishTask(t.Context(), "api", "1", ""))(t)
	got, err := b.OpenTasks(t.Context(), "api")
	if err != nil || len(got) != 1 || got[0].ID != "2" || got[0].Subject != "second" {
		t.Errorf("%+v, %v", got, err)
	}
}
