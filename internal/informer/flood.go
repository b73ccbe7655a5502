package informer

import "time"

const (
	// floodRestFirst is how long a stream rests that has brought more than there is room for. It doubles each time, up
	// to floodRestMost, until there was no flood for floodForgotten. What was read is not looked at again for so long:
	// it costs time, and the server decides how much.
	floodRestFirst = 4 * time.Second
	floodRestMost  = time.Minute
	floodForgotten = 10 * time.Minute
)

// flood ends the watch under way, as there is no room for what it brings. The reflector lists when it goes on.
func (g *watchSupervisor) flood(err error) {
	g.mu.Lock()
	g.flooded, g.away = err, true
	s := g.current
	g.mu.Unlock()
	if s != nil {
		s.Interface.Stop()
	}
}

// fit records that there was room for a whole list: what was left before it does not count any more.
func (g *watchSupervisor) fit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flooded = nil
}

// rest returns for how long the stream rests after a flood and what that was, zero if there was none.
func (g *watchSupervisor) rest(now time.Time) (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.flooded
	if err == nil {
		return 0, nil
	}
	if now.Sub(g.rested) > floodForgotten {
		g.pause = 0
	}
	g.pause = min(max(2*g.pause, floodRestFirst), floodRestMost)
	g.flooded, g.rested = nil, now.Add(g.pause)
	return g.pause, err
}
