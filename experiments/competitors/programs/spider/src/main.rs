//! Spider on the hosts of the seeds: spider_crawl SEEDS PER_SITE DELAY_MS.
//!
//! All sites side by side, each with PER_SITE requests at a time, or one after the other with a pause of DELAY_MS
//! between them. robots.txt is obeyed; nothing is kept.

use spider::{tokio, website::Website};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seeds = std::fs::read_to_string(&arguments[1]).expect("a file of seeds");
    let per_site: usize = arguments[2].parse().expect("a number of requests");
    let delay: u64 = arguments[3].parse().expect("a pause in milliseconds");
    let mut crawls = tokio::task::JoinSet::new();
    for seed in seeds.split_whitespace() {
        let mut site = Website::new(seed);
        site.with_user_agent(Some("spider-experiment"))
            .with_respect_robots_txt(true)
            .with_concurrency_limit(Some(per_site))
            .with_delay(delay)
            .with_no_control_thread(true);
        crawls.spawn(async move { site.crawl().await });
    }
    while crawls.join_next().await.is_some() {}
}
