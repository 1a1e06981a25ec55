// Colly on the hosts of the seeds: colly SEEDS PER_SITE DELAY REFUSED.
//
// As its documentation crawls sites side by side: asynchronous, with a limit for each host of PER_SITE requests at a time
// and DELAY (such as 1s) after each. URLs that match REFUSED are not fetched. robots.txt is obeyed; nothing is written.
package main

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	seeds := strings.Fields(string(must(os.ReadFile(os.Args[1]))))
	perSite, delay := must(strconv.Atoi(os.Args[2])), must(time.ParseDuration(os.Args[3]))
	crawl := colly.NewCollector(colly.Async(true), colly.UserAgent("Colly-experiment"))
	crawl.DisallowedURLFilters = []*regexp.Regexp{regexp.MustCompile(os.Args[4])}
	crawl.IgnoreRobotsTxt = false
	follow := func(link *colly.HTMLElement) {
		// Without the fragment, or colly fetches the page again for each of its sections.
		page, _, _ := strings.Cut(link.Attr("href")+link.Attr("src"), "#")
		if page != "" {
			link.Request.Visit(page)
		}
	}
	crawl.OnHTML("a[href], area[href], frame[src], iframe[src]", follow)
	for _, seed := range seeds {
		site := must(url.Parse(seed))
		crawl.AllowedDomains = append(crawl.AllowedDomains, site.Hostname())
		crawl.Limit(&colly.LimitRule{DomainGlob: site.Host, Parallelism: perSite, Delay: delay})
	}
	for _, seed := range seeds {
		crawl.Visit(seed)
	}
	crawl.Wait()
}
