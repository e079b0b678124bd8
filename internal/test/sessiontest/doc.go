// Package sessiontest runs ordinary sessions of the real Claude Code client with the
// hooks of the real program in their settings, as `waggle hooks install` writes them,
// and answers their questions at home, from the list, and from both at once. What may
// run is what somebody allowed: each call leaves a mark that is counted.
package sessiontest
