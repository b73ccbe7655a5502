package diffwrite

import "time"

const (
	// budgetBurst and budgetRate are how many writes a composite can take at once, and how many a second after that.
	// Crossplane 2.4 stops to listen to what a composite is made of after 50 writes at once, and after one each two
	// seconds: --circuit-breaker-burst=100 and --circuit-breaker-refill-rate=1, which count each write twice. The rest
	// is for what we do not write: what Crossplane does itself.
	budgetBurst = 40
	budgetRate  = 0.25

	// reserve is what writes that can wait leave for those that cannot, and reservePassing is what they leave as long
	// as an object is not ready: it will be, and then what has changed meanwhile is written along with that.
	reserve        = 10
	reservePassing = 30
)

// A budget is how many writes of status Crossplane bears for one composite. Those that cannot wait may overdraw it.
type budget struct {
	left float64
	at   time.Time // when that was left
}

func newBudget(now time.Time) *budget { return &budget{left: budgetBurst, at: now} }

func (b *budget) have(now time.Time) float64 {
	return min(budgetBurst, b.left+budgetRate*now.Sub(b.at).Seconds())
}

func (b *budget) spend(now time.Time) { b.left, b.at = b.have(now)-1, now }

func (b *budget) full(now time.Time) bool { return b.have(now) == budgetBurst }

// wait returns how long it takes until enough is left for a write that can wait.
func (b *budget) wait(now time.Time, passing bool) time.Duration {
	keep := reserve
	if passing {
		keep = reservePassing
	}
	lack := float64(keep) - b.have(now)
	if lack <= 0 {
		return 0
	}
	return time.Duration(lack / budgetRate * float64(time.Second))
}
