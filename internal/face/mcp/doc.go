// Package mcp serves one member of a team to a client of the Model Context Protocol: the
// client's model works as that member, through tools.
//
//	err := mcp.New(seat, mcp.Options{Version: version}).Run(ctx, mcp.Stdio())
//
// The identity of the client is fixed when the connection starts: the Seat has it, and no argument
// of a tool names the caller. A worker's client has no tool that decides about requests; the lead's
// client has the tools of Leading, within the team file's decide.
//
// Every tool's arguments are read by exact field name: an unknown, a duplicate or a missing field
// is an error of the call. A tool that asks a person waits as long as the seat does, and returns
// the outcome; a request without an answer is not allowed.
package mcp
