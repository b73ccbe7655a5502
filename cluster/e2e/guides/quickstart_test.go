package guides

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
)

// onLaptops are the headings of docs/quickstart.md whose commands need a container runtime. The test has clusters, a
// provider, and Crossplane with its functions instead.
var onLaptops = []string{"## 2. Make two clusters", "## 3. Run the provider", "## 6. Install Crossplane"}

// TestQuickstart goes through docs/quickstart.md from where its two clusters and the provider run. Then it makes the
// first composite of README.md, where no Greeting is left.
func TestQuickstart(t *testing.T) {
	page := filepath.Join(top, "docs", "quickstart.md")
	d := newDesk(t)
	d.follow(t, page, "## 4. Connect the other cluster")
	d.follow(t, page, "## 5. Keep a resource there")
	crossplane.Start(t, local.StartCrossplane, d.control.Config())
	crossplane.RunFunctions(t, d.c, crossplane.StartRegistry(t))
	d.follow(t, page, "## 7. Offer a kind of your own")
	d.follow(t, page, "## 8. Ask for one")

	readme := guide.Commands(t, filepath.Join(top, "README.md"), "## A first composite")
	d.RunAll(t, readme[1:]) // The first installs the functions.
	d.awaitConfigMap(t, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "morning"},
		map[string]string{"message": "good morning"})
	d.Run(t, "kubectl delete greetings.platform.example.org --all --cascade=foreground --timeout=2m")
	d.follow(t, page, "## Remove all of it")
	for _, heading := range onLaptops {
		d.ran += len(guide.Path(t, page, heading))
	}
	d.wantAllRun(t, page)
}

// opening is where a block of commands or manifests begins in Markdown.
var opening = regexp.MustCompile("(?m)^```(sh|yaml)$")

// follow runs the commands and applies the manifests of a guide under a heading.
func (d *desk) follow(t *testing.T, page, heading string) {
	t.Helper()
	blocks := guide.Path(t, page, heading)
	d.RunAll(t, blocks)
	d.ran += len(blocks)
}

// wantAllRun fails the test unless each block of a guide has been run.
func (d *desk) wantAllRun(t *testing.T, page string) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if all := len(opening.FindAllString(string(content), -1)); d.ran != all {
		t.Errorf("blocks of %s: want all %d to be run, got %d", filepath.Base(page), all, d.ran)
	}
}
