package waggle

import "encoding/json"

// decodePermissionRequest reads protocol §1.1.
func decodePermissionRequest(f *frame) Payload {
	p := PermissionRequest{
		RequestID:             f.requestID(),
		AgentID:               f.bareMember("agent_id", "worker_id"),
		ToolName:              f.text("tool_name", "tool.name", "tool"),
		ToolUseID:             f.id("tool_use_id"),
		Description:           f.text("description", "reason"),
		Input:                 f.toolInput(),
		PermissionSuggestions: f.list("permission_suggestions"),
	}
	p.Timestamp = f.text("timestamp")
	if p.ToolName == "" {
		f.fail("the tool's name is missing")
	}
	return p
}

// bareMember is member without the team.
func (f *frame) bareMember(paths ...string) string {
	id := f.member(paths...)
	name, _, team := cutAgentID(id)
	if team {
		f.warn("%s names the team too: the bare name is kept", paths[0])
	}
	return name
}

// toolInput returns the request's input, byte for byte as it stands in the
// message, because its digest is taken over these bytes. Seed 000's summary
// string becomes the one member of an object.
func (f *frame) toolInput() json.RawMessage {
	raw, ok := f.find("input", "tool.arguments")
	switch {
	case !ok:
		f.warn("the tool's input is missing: read as {}")
		return json.RawMessage("{}")
	case raw[0] == '{':
		return json.RawMessage(raw)
	case raw[0] == '"':
		f.warn("the tool's input is a string, not an object: read as its arguments")
		return json.RawMessage(`{"arguments":` + raw + `}`)
	}
	f.fail("the tool's input is %s, not an object", aType(raw))
	return nil
}

// list reads an array whose elements are kept as they are.
func (f *frame) list(paths ...string) []json.RawMessage {
	list := []json.RawMessage{}
	raw, ok := f.find(paths...)
	if !ok {
		return list
	}
	if raw[0] != '[' {
		f.warn("%s is %s, not an array: ignored", paths[0], aType(raw))
		return list
	}
	for _, item := range items(raw) {
		list = append(list, json.RawMessage(item))
	}
	return list
}

// decodePermissionResponse reads protocol §1.2, the permission prompt's own form
// (behavior, updatedInput and message at top level) included.
func decodePermissionResponse(f *frame) Payload {
	p := PermissionResponse{
		RequestID: f.requestID(),
		Subtype:   SubtypeError,
		ToolUseID: f.id("tool_use_id"),
		Mode:      f.mode("mode", "permissionMode", "policy.permissionMode"),
	}
	if raw, ok := f.find("approved_request"); ok {
		p.ApprovedRequest = json.RawMessage(raw)
	}
	p.Timestamp = f.text("timestamp")
	v := f.verdict()
	reason := f.reason("error")
	granted := f.granted()
	switch v {
	case undecided:
		f.fail("the answer has no decision field")
	case denied:
		p.Error = reason
		if granted != nil && !granted.empty() {
			f.warn("response is ignored: the answer denies")
		}
	case allowed:
		if granted == nil {
			return denial(p)
		}
		p.Subtype = SubtypeSuccess
		if !granted.empty() {
			p.Response = granted
		}
		p.Notes = reason
	}
	return p
}

func (g *PermissionGranted) empty() bool {
	return g.UpdatedInput == nil && g.PermissionUpdates == nil
}

// granted reads the success arm; nil when it is there and cannot be read.
func (f *frame) granted() *PermissionGranted {
	if raw, ok := f.find("response"); ok && raw[0] != '{' {
		f.warn("response is %s, not an object: read as a denial", aType(raw))
		return nil
	}
	g := PermissionGranted{}
	if raw, ok := f.find("response.updated_input", "updated_input"); ok {
		if raw[0] != '{' {
			f.warn("updated_input is %s, not an object: read as a denial", aType(raw))
			return nil
		}
		g.UpdatedInput = json.RawMessage(raw)
	}
	if list := f.list("response.permission_updates", "permission_updates"); len(list) > 0 {
		g.PermissionUpdates = list
	}
	return &g
}
