// Package telemetry tells observers of the transitions of a team's machines: each
// one once, over restarts and replays, and never a message's text.
//
//	obs := telemetry.Slog(logger)
//	f, err := telemetry.NewFollower(dir, path, obs)
//	err = f.Pass(ctx) // tells what is new on record
//
// A Follower reads the journals beside the machines and tells nobody under a lock.
// How far it has told is kept in a file beside the journals: a transition is told
// when its record is on disk, in the order of its journal, by whoever leads, also
// when it was made while nobody led. A process that is killed after it told a
// batch and before it has noted that tells the batch again; Machine, Instance, Seq
// and Request say that it is the same.
//
// Slog is an observer that logs. The module otel has one for OpenTelemetry. Nothing
// here runs unless it is asked for.
package telemetry
