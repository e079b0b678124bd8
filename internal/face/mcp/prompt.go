package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// PromptTool is the tool that a Claude Code client is given as --permission-prompt-tool
// mcp__waggle__permission_prompt.
const PromptTool = "permission_prompt"

type promptArgs struct {
	Tool  string `json:"tool_name"`
	Input raw    `json:"input"`
	UseID string `json:"tool_use_id,omitempty"`
}

// decision is the answer in the form that the client expects, as one block of text.
type decision struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
}

// addPrompt adds permission_prompt. The client runs an allowed call itself and reports no result,
// so that its end is unknown without report_result. Every error denies.
func (s *Server) addPrompt(open *claims) {
	in := schemaOf[promptArgs]()
	// Clients of other versions may send more fields; only the named ones are read.
	in.AdditionalProperties = nil
	check, err := in.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: %s: %v", PromptTool, err)) // a type of this package
	}
	t := &sdk.Tool{Name: PromptTool, Title: "Permission prompt", InputSchema: in, Annotations: hints{}.annotations("Permission prompt"),
		Description: "For a client's own permission prompts, not for the model: answers one block of text with behavior allow or deny."}
	s.mcp.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		d := s.prompt(ctx, req.Params.Arguments, check, open)
		data, err := jsonobj.Marshal(d)
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}}, nil
	})
}

func (s *Server) prompt(ctx context.Context, args json.RawMessage, check *jsonschema.Resolved, open *claims) decision {
	deny := func(err error) decision { return decision{Behavior: "deny", Message: plain(err)} }
	a, err := decode[promptArgs](args, check)
	if err != nil {
		return deny(err)
	}
	switch a.Tool {
	case "AskUserQuestion", "ExitPlanMode":
		return deny(fmt.Errorf("%s does not go through this prompt: use ask_question, submit_plan", a.Tool))
	}
	claim, err := s.seat.Ask(ctx, agent.Call{Tool: a.Tool, Input: json.RawMessage(a.Input), UseID: a.UseID})
	switch {
	case err != nil:
		return deny(err)
	case !claim.Allowed || len(claim.Input) == 0:
		return decision{Behavior: "deny", Message: claim.Reason}
	}
	open.keep(string(claim.ID), claim)
	return decision{Behavior: "allow", UpdatedInput: claim.Input}
}
