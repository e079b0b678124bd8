package view

import (
	"encoding/json"

	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// Registry is the document of a team: the registry's own fields in their order, then those of seed
// 002's export, then the running processes.
func Registry(tv *inspect.TeamView) (json.RawMessage, error) {
	object, err := jsonobj.Parse(tv.Config.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	members, _ := object.Get("members")
	entries, _ := jsonobj.Elements(members)
	live := []string{}
	for _, r := range tv.Live {
		live = append(live, string(r.Name))
	}
	for _, f := range []struct {
		key   string
		value any
	}{
		{"team", tv.Team}, {"created", protocol.FormatTime(tv.Config.CreatedAt)}, {"active_members", tv.Active()},
		{"total_members", len(entries)}, {"dialect", tv.Config.Dialect()}, {"layout", tv.Layout},
		{"live", len(live)}, {"live_members", live}, {"led", tv.Led}, {"ours", tv.Ours}, {"sockets", tv.Sockets},
	} {
		raw, err := page.DocumentLine(f.value)
		if err != nil {
			return nil, err
		}
		object.Delete(f.key) // a registry's own key of that name is not what is asked for
		object.Set(f.key, raw)
	}
	return object.Raw(), nil
}
