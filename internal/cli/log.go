package cli

import (
	"context"
	"encoding/json"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"waggle/journal"
	"waggle/operator"
)

// logEntry is one journal record as `log` shows it.
type logEntry struct {
	Time    string          `json:"time"`
	Journal string          `json:"journal"`
	Name    string          `json:"name"` // leader, or the member
	Seq     uint64          `json:"seq"`
	Writer  journal.Writer  `json:"writer"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

func logCmd(a *App) *cobra.Command {
	var kind, member string
	cmd := &cobra.Command{
		Use:               "log [TEAM]",
		Short:             "What happened, from the journals",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.teamArg(args)
			if err != nil {
				return err
			}
			recs, err := op.Records(cmd.Context(), name)
			if err != nil {
				return err
			}
			return a.log1(cmd.Context(), recs, kind, member)
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only records of this kind")
	cmd.Flags().StringVar(&member, "member", "", "only this member's journal (leader for the leader's)")
	return cmd
}

func (a *App) log1(_ context.Context, recs []operator.LogRecord, kind, member string) error {
	entries := []logEntry{}
	for _, r := range recs {
		if (kind != "" && r.Kind != kind) || (member != "" && r.Name != member) {
			continue
		}
		entries = append(entries, logEntry{r.Time.UTC().Format(time.RFC3339Nano), string(r.Journal), r.Name, uint64(r.Seq), r.Writer, r.Kind, r.Body})
	}
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].Time < entries[j].Time })
	if a.flags.json {
		return a.document(map[string]any{"records": entries})
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{e.Time, e.Name, e.Kind, string(e.Body)})
	}
	a.table([]string{"TIME", "JOURNAL", "KIND", "BODY"}, rows)
	return nil
}
