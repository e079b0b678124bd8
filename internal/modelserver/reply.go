package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"waggle/internal/json/jsonobj"
)

// reply is one assistant message on its way.
type reply struct {
	id, model, stop string
	blocks          []Block
}

func newReply(req Request, turn Turn) reply {
	r := reply{id: fmt.Sprintf("msg_%06d", req.N), model: req.Model, stop: "end_turn", blocks: slices.Clone(turn.Blocks)}
	for i, b := range r.blocks {
		if b.Type != "tool_use" {
			continue
		}
		r.stop = "tool_use"
		if b.ID == "" { // a script's turn has none: it is said to several sessions
			r.blocks[i].ID = fmt.Sprintf("toolu_%06d_%d", req.N, i)
		}
	}
	return r
}

var usage = map[string]int{
	"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
}

// message is the message with these of its blocks.
func (r reply) message(blocks []Block, stop any) map[string]any {
	content := []any{}
	for _, b := range blocks {
		content = append(content, b.wire())
	}
	return map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

// wire is the block as the API has it.
func (b Block) wire() map[string]any {
	if b.Type == "text" {
		return map[string]any{"type": "text", "text": b.Text}
	}
	return map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": b.Input}
}

func (b Block) delta() map[string]any {
	if b.Type == "text" {
		return map[string]any{"type": "text_delta", "text": b.Text}
	}
	return map[string]any{"type": "input_json_delta", "partial_json": string(b.Input)}
}

// stream writes the message as server-sent events.
func (r reply) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		data, err := jsonobj.Marshal(fields)
		if err != nil {
			panic(fmt.Sprintf("modelserver: a turn that is not JSON: %v", err))
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		_ = http.NewResponseController(w).Flush() // the client may have gone
	}
	send("message_start", map[string]any{"message": r.message(nil, nil)})
	for i, b := range r.blocks {
		send("content_block_start", map[string]any{"index": i, "content_block": Block{Type: b.Type, ID: b.ID, Name: b.Name, Input: json.RawMessage("{}")}.wire()})
		send("content_block_delta", map[string]any{"index": i, "delta": b.delta()})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": r.stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": 10},
	})
	send("message_stop", map[string]any{})
}
