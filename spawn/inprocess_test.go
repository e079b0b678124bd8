package spawn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

var inProcess = spawn.InProcess(spawntest.Inside)

func TestInProcess(t *testing.T) { spawntest.TestBackend(t, inProcess) }

// A panic ends only the func that panicked, and the log has its stack.
func TestInProcessPanics(t *testing.T) {
	t.Parallel()
	for mode, want := range map[spawntest.Mode]string{
		spawntest.ModePanic:  "it panicked: out of luck",
		spawntest.ModeGoexit: "it ended its goroutine",
	} {
		other := spawntest.Start(t, inProcess, spawntest.Spec(t, spawntest.ModeBlock))
		spec := spawntest.Spec(t, mode, "out of\nluck")
		p := spawntest.Start(t, inProcess, spec)
		if got := spawntest.Wait(t, p); got != (spawn.Exit{Code: -1, Panic: want}) {
			t.Errorf("%s: exit %+v", mode, got)
		}
		if rung, err := p.Stop(t.Context(), spawn.Grace{}); rung != spawn.RungGone || err != nil {
			t.Errorf("%s: stop of what has ended: %q, %v", mode, rung, err)
		}
		log, err := os.ReadFile(spec.Log)
		testenv.Must(t, err)
		if mode == spawntest.ModePanic && !strings.Contains(string(log), "spawntest.Inside(") {
			t.Errorf("no stack in the log:\n%s", log)
		}
		select {
		case <-other.Done():
			t.Errorf("%s: the other one ended too", mode)
		default:
		}
	}
}

// A goroutine that does not listen cannot be ended, and Stop says so in time.
func TestInProcessStubborn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := spawn.InProcess(func(context.Context, spawn.Spec, io.Writer) spawn.Exit {
		<-release
		return spawn.Exit{}
	})
	p, err := b.Start(t.Context(), spawntest.Spec(t, spawntest.ModeBlock))
	testenv.Must(t, err)
	ms := time.Millisecond
	if rung, err := p.Stop(t.Context(), spawn.Grace{Term: ms, Kill: ms}); rung != "" || !errors.Is(err, spawn.ErrStillAlive) {
		t.Errorf("stop: %q, %v", rung, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), ms)
	defer cancel()
	if rung, err := p.Stop(ctx, spawn.Grace{}); rung != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop until ctx ends: %q, %v", rung, err)
	}
	close(release)
	spawntest.Wait(t, p)
}

func init() { scenarios["stop"] = stopScenario }

// stopScenario is a scenario: it tries to end the identity on its stdin, as a program that read it
// in a record, and prints the result.
func stopScenario() error {
	var id spawn.Identity
	if err := json.NewDecoder(os.Stdin).Decode(&id); err != nil {
		return err
	}
	for _, stop := range []func(context.Context, spawn.Identity, spawn.Grace) (string, error){spawn.Stop, spawn.StopTree} {
		rung, err := stop(context.Background(), id, spawn.Grace{Term: time.Millisecond})
		fmt.Println(rung, errors.Is(err, spawn.ErrNotOurs))
	}
	return nil
}

// A program is not ended because of a member inside it: neither by itself nor by another program
// that has read the record and is not its descendant.
func TestInsideIsNotEnded(t *testing.T) {
	t.Parallel()
	// host is a program, which leads a group, with a member inside; its helper is a
	// process of ours so that it may die if this is broken.
	host := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock)).Identity()
	id := spawn.Identity{PID: host.PID, PGID: host.PGID, SID: host.SID, Start: host.Start, Boot: host.Boot, Inside: true}
	record, err := json.Marshal(id)
	testenv.Must(t, err)
	exe, err := os.Executable()
	testenv.Must(t, err)
	cmd := exec.Command(exe)
	cmd.Env, cmd.Stdin, cmd.Stderr = []string{scenarioEnv + "=stop"}, strings.NewReader(string(record)), os.Stderr
	if out, err := cmd.Output(); err != nil || string(out) != " true\n true\n" {
		t.Errorf("another program, of %s: %q, %v", record, out, err)
	}
	refuses(t, id)
	own, err := spawn.Inside()
	if err != nil || own.PGID != 0 || !own.Alive() {
		t.Fatalf("%+v, %v", own, err)
	}
	refuses(t, own)
	if !host.Alive() {
		t.Fatal("it was ended")
	}
	spawntest.End(t, host)
	if rung, err := spawn.StopTree(t.Context(), id, spawn.Grace{}); rung != spawn.RungGone || err != nil {
		t.Errorf("when its program is gone: %q, %v", rung, err)
	}
}

// startCost is how long a backend needs from Start to the process being there.
func startCost(b *testing.B, backend spawn.Backend) {
	spec := spawntest.Spec(b, spawntest.ModeExit, "0")
	for b.Loop() {
		p, err := backend.Start(b.Context(), spec)
		testenv.Must(b, err)
		<-p.Done()
	}
}

// BenchmarkStart is from Start to the end of a program that ends at once.
func BenchmarkStart(b *testing.B) {
	for _, backend := range []spawn.Backend{processBackend, inProcess} {
		b.Run(backend.Name(), func(b *testing.B) { startCost(b, backend) })
	}
}

// TestStartCost keeps what starting costs in docs/measured.md.
func TestStartCost(t *testing.T) {
	t.Parallel()
	n := testenv.Scale(3, 500)
	for _, backend := range []spawn.Backend{processBackend, inProcess} {
		var took []time.Duration
		spec := spawntest.Spec(t, spawntest.ModeExit, "0")
		for range n {
			began := time.Now()
			p, err := backend.Start(t.Context(), spec)
			testenv.Must(t, err)
			took = append(took, time.Since(began))
			<-p.Done()
		}
		slices.Sort(took)
		testenv.Measured(t, "start in the backend %s, %d times: p50 %v, p99 %v, max %v", backend.Name(), n, took[n/2], took[n*99/100], took[n-1])
	}
}
