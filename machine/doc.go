// Package machine has the tables of the machines of a team: the states of a worker, of a
// member as its leader has it, of a request and of the team, the events that move them,
// and every move that there is. The folds of package control look each move up here, and
// an Observer is told of it. The diagrams in docs/machines.md are generated from the
// tables.
package machine
