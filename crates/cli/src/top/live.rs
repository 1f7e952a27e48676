//! The page on a terminal, until the process or the user ends it.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use blitz_io_inspect::{Answer, ask_without_stacks};
use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::page::Page;
use super::scheduler::Schedulers;
use super::view::{View, WaitView};
use crate::exit::Exit;
use crate::output;

/// The longest time between a key and its effect.
const KEYS: Duration = Duration::from_millis(50);

/// The result of a question.
enum News {
    Answer(Box<Answer>),
    /// The process lives and did not answer this time.
    Silent(io::Error),
    Ended,
}

/// Shows the process until the user or the process ends that.
pub fn run(pid: u32, name: &str, every: Duration, scheduler: bool) -> Result<Exit, Exit> {
    let (news, answers) = channel();
    // Dropped when the page ends; then the thread ends within its next question.
    let (_page, page) = channel::<()>();
    let program = name.to_owned();
    thread::spawn(move || question(pid, &program, every, &news, &page));
    let failed = |error: io::Error| Exit::Failed(format!("the terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let mut screen = Screen::new(name, output::has_colours());
    screen.shows_schedulers = scheduler;
    let ended = screen.run(&mut terminal, &answers);
    ratatui::try_restore().map_err(failed)?;
    if ended.map_err(failed)? == End::Process {
        output::print(&format!("process {pid} has ended\n"))?;
    }
    Ok(Exit::Done)
}

/// Asks the process again and again.
fn question(pid: u32, name: &str, every: Duration, news: &Sender<News>, page: &Receiver<()>) {
    loop {
        let said = match ask_without_stacks(pid, name) {
            Ok(answer) => News::Answer(Box::new(answer)),
            Err(error) if is_end(&error) => News::Ended,
            Err(error) => News::Silent(error),
        };
        if news.send(said).is_err() || page.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Returns `true` if no process listens at the socket.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::NotFound
    )
}

/// Why the page ended.
#[derive(PartialEq, Eq)]
enum End {
    User,
    Process,
}

/// The state of the page.
pub(super) struct Screen {
    program: String,
    last: Option<Answer>,
    view: Option<View>,
    silence: Option<String>,
    selected: usize,
    is_open: bool,
    has_colours: bool,
    /// The page is that of the schedulers.
    pub(super) shows_schedulers: bool,
    schedulers: Option<Schedulers>,
}

impl Screen {
    pub(super) fn new(program: &str, has_colours: bool) -> Self {
        Self {
            program: program.to_owned(),
            last: None,
            view: None,
            silence: None,
            selected: 0,
            is_open: false,
            has_colours,
            schedulers: None,
            shows_schedulers: false,
        }
    }

    fn run(&mut self, terminal: &mut DefaultTerminal, answers: &Receiver<News>) -> io::Result<End> {
        loop {
            terminal.draw(|frame| self.draw(frame))?;
            while !event::poll(KEYS)? {
                match answers.try_recv() {
                    Ok(News::Answer(answer)) => self.show(*answer),
                    Ok(News::Silent(error)) => self.silence = Some(error.to_string()),
                    Ok(News::Ended) => return Ok(End::Process),
                    Err(_) => continue,
                }
                terminal.draw(|frame| self.draw(frame))?;
            }
            if let Event::Key(key) = event::read()?
                && self.press(key)
            {
                return Ok(End::User);
            }
        }
    }

    /// Shows a new answer.
    pub(super) fn show(&mut self, answer: Answer) {
        self.silence = None;
        let view = View::new(self.last.as_ref(), &answer, &self.program);
        self.selected = self
            .chosen_in(&view)
            .unwrap_or(self.selected)
            .min(view.waits.len().saturating_sub(1));
        self.schedulers = (self.shows_schedulers)
            .then(|| Schedulers::new(self.last.as_ref(), &answer, &self.program));
        self.view = Some(view);
        self.last = Some(answer);
    }

    /// Returns the index of the wait that the user has chosen, or else of another wait of its task or thread.
    fn chosen_in(&self, view: &View) -> Option<usize> {
        if self.selected == 0 && !self.is_open {
            return None;
        }
        let chosen = self.view.as_ref()?.waits.get(self.selected)?;
        let is_waiter = |wait: &&WaitView| wait.waiter == chosen.waiter;
        let is_it = |wait: &&WaitView| is_waiter(wait) && wait.target == chosen.target;
        let mut waits = view.waits.iter();
        let found = waits.clone().position(|wait| is_it(&wait));
        found.or_else(|| waits.position(|wait| is_waiter(&wait)))
    }

    /// Does what a key says. Returns whether it ends the page.
    pub(super) fn press(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let last = self
            .view
            .as_ref()
            .map_or(0, |view| view.waits.len().saturating_sub(1));
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Enter => self.is_open = !self.is_open,
            _ => {}
        }
        false
    }

    /// Draws the page and the line with the keys.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let parts = [Constraint::Min(0), Constraint::Length(1)];
        let [body, foot] = Layout::vertical(parts).areas(frame.area());
        let (columns, lines) = (usize::from(body.width), usize::from(body.height));
        let lines = match &self.view {
            None => vec![Line::from("asks the process")],
            Some(_) if self.shows_schedulers => {
                let view = self.schedulers.as_ref();
                view.map_or_else(Vec::new, |view| view.lines(columns))
            }
            Some(view) => {
                let page = Page {
                    selected: (!view.waits.is_empty()).then_some(self.selected),
                    is_open: self.is_open,
                    has_colours: self.has_colours,
                    ..Page::of_height(columns, lines, view)
                };
                page.lines(view)
            }
        };
        frame.render_widget(Paragraph::new(lines), body);
        let keys = match &self.silence {
            Some(error) => format!("no answer: {error}; q ends"),
            None if self.shows_schedulers => "q ends".to_owned(),
            None => "q ends · Up, Down select a wait · Enter its chain".to_owned(),
        };
        frame.render_widget(Paragraph::new(keys), foot);
    }
}
